"""Mutation tests: bugs put into a copy of the source, one at a time, which the listed tests must detect.

    python tools/mutations.py            # all of them, with a table
    python tools/mutations.py tecm       # those whose name holds a word
    python tools/mutations.py --workers 4

An undetected mutation is printed as "survived", and one whose text is no longer in the source as "stale"; both make the
program exit with 1, as do tests that fail without a bug.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
REACH = "tests/contracts/test_parameters_reach.py"


class Mutation(NamedTuple):
    """A bug: a text in a file of src/softecm, its replacement, and the tests that should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: str


def reach(name: str) -> str:
    """Return the parameter tests of one estimator."""
    return f"{REACH} -k {name}"


COPIES = f"{REACH} -k copies"
MUTATIONS = [
    # ------------------------------------------------ survivors of a trial
    Mutation(
        "weights dropped by the gradient solver",
        "objective/equations.py",
        "            w = w * cost.weights[rows, None, None]\n",
        "            pass\n",
        COPIES,
    ),
    Mutation(
        "transfer of TECM ignores weights",
        "algorithms/tecm.py",
        "self.transfer * objects.weight / chosen.n_clusters",
        "self.transfer * len(objects.x) / chosen.n_clusters",
        COPIES,
    ),
    Mutation(
        "price of CEVCLUS's links",
        "algorithms/cevclus.py",
        "float(self.xi) / sum(map(len, links))",
        "float(self.xi) / max(map(len, links))",
        f"{REACH} -k cevclus_cost",
    ),
    Mutation(
        "local weights of MECMdd",
        "algorithms/mecmdd.py",
        'SET if self.weights == "local" else ALL',
        "ALL",
        reach("MECMdd"),
    ),
    Mutation(
        "shares of MECMdd's prediction",
        "algorithms/mecmdd.py",
        "problem.shares(state.weights).numpy()",
        "problem.shares(state.weights).flip(0).numpy()",
        "tests/algorithms/test_mecmdd.py",
    ),
    Mutation(
        "degree ignored among neighbours",
        "fit/stages.py",
        "gabriel(between, objects.metric.degree)",
        "gabriel(between)",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "journal without fsync",
        "files/journal.py",
        "            os.fsync(file.fileno())\n",
        "            pass\n",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "lock on a removed file",
        "files/lock.py",
        "            if os.path.samestat(os.fstat(handle), os.stat(lock)):\n",
        "            if True:\n",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "the same resample every time",
        "selection/stability.py",
        "np.random.RandomState(number + 1).permutation(n)",
        "np.random.RandomState(1).permutation(n)",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "honest R sees what it judges",
        "explain/trees.py",
        "grown(rows[fold != part])",
        "grown(rows)",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "integers beyond 2^53",
        "readers/numbers.py",
        " or not (np.abs(numbers) < 2.0**53).all()",
        "",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "warnings leak cells under --no-values",
        "report/fit.py",
        "    return [*own, *hidden_warnings(",
        "    return [*messages, *hidden_warnings(",
        "tests/contracts/test_no_values.py",
    ),
    Mutation(
        "prior counted twice",
        "objective/problem.py",
        "if self.pull is not None and not self.metric.closed_form.quadratic:  # whose sums hold it already",
        "if self.pull is not None:",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "race across cells",
        "fit/loop.py",
        "    np.minimum.at(lowest, groups, now)\n",
        "    lowest[:] = now.min()\n",
        "tests/fit/test_loop.py",
    ),
    Mutation(
        "stale cap in the first stage",
        "fit/stages.py",
        "cap, fit = shrunk, fit.using(delta=shrunk)",
        "fit = fit.using(delta=shrunk)",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "clamp in Combined",
        "distances/views.py",
        "[d.clamp_min(0.0) for d, _ in views_measured]",
        "[d for d, _ in views_measured]",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "clamp in combinations of sparse rows",
        "distances/squared_euclidean.py",
        "out[:, part] = torch.where(squares > ROUNDING * lengths, squares, 0.0)",
        "out[:, part] = squares",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "one-sided agreement",
        "distances/view_statistics.py",
        "common[a, b] = common[b, a] = correlation",
        "common[a, b] = correlation",
        "tests/contracts/test_glue.py",
    ),
    Mutation(
        "calibration judged in-sample",
        "calibration/calibrating.py",
        "bounds(self.memberships[::2], i, j, self.level)",
        "bounds(self.memberships, i, j, self.level)",
        "tests/calibration/test_calibrate.py -k other_half",
    ),
    Mutation(
        "outliers in cluster stability",
        "calibration/calibrating.py",
        "        inside = 1.0 - self.before.masses[:, :1]\n",
        "        inside = np.ones((len(self.before), 1))\n",
        "tests/calibration/test_calibrate.py -k outliers_that_move",
    ),
    Mutation(
        "gap majority of numbers",
        "explain/columns.py",
        "left_sets, 2 * (ends + 1) >= len(order)",
        "left_sets, 2 * (ends + 1) < len(order)",
        "tests/explain/test_trees.py",
    ),
    Mutation(
        "gap majority of words",
        "explain/columns.py",
        "most_left = 2 * counts[there] >= known.sum()",
        "most_left = 2 * counts[there] < known.sum()",
        "tests/explain/test_trees.py",
    ),
    Mutation(
        "half unsound runs",
        "selection/rules.py",
        "if 2 * len(sound) <= len(rows):",
        "if 2 * len(sound) < len(rows):",
        "tests/selection/test_rules.py -k half_of",
    ),
    Mutation(
        "dotted dates prove slashed ones",
        "readers/dates.py",
        '"%[dm][/-]%[dm]"',
        '"%[dm].%[dm]"',
        "tests/readers/test_as_people_write.py -k dates_with_dots",
    ),
    Mutation(
        "below not accumulated in quantiles",
        "distributed/passes.py",
        "below += float(sums[:place].sum())",
        "below = float(sums[:place].sum())",
        "tests/distributed/test_passes.py",
    ),
    Mutation(
        "count of the other k groups",
        "report/words.py",
        "counts[6 : c + 1].sum()",
        "counts[5 : c + 1].sum()",
        "tests/report/test_words.py",
    ),
    Mutation(
        "CSV headers not harmless",
        "cli/result_folder.py",
        "harmless).rename(columns=harmless)\n",
        "harmless)\n",
        "tests/contracts/test_glue.py",
    ),
    # ------------------------------------------------ between parameters and problems
    Mutation(
        "alpha lost",
        "fit/algorithm.py",
        "= own.alpha, own.beta,",
        "= 1.0, own.beta,",
        reach("ECM-alpha"),
    ),
    Mutation(
        "beta lost",
        "fit/algorithm.py",
        "= own.alpha, own.beta,",
        "= own.alpha, 1.5,",
        reach("ECM-beta"),
    ),
    Mutation(
        "delta lost",
        "fit/algorithm.py",
        "np.inf if own.delta is None else own.delta\n",
        "np.inf\n",
        reach("ECM-delta"),
    ),
    Mutation(
        "lambda lost",
        "fit/algorithm.py",
        'list(map(attrgetter("lam"), of_runs))',
        "[1.0] * len(of_runs)",
        reach("SoftECM-lam"),
    ),
    Mutation(
        "weights lost in a cost",
        "fit/algorithm.py",
        "runs=runs, weights=weights, rule=self.rule",
        "runs=runs, weights=None, rule=self.rule",
        COPIES,
    ),
    Mutation(
        "solver lost",
        "fit/settings.py",
        '"solver": SOLVERS.get(solver, solver),',
        '"solver": SOLVERS["auto"],',
        reach("SoftECM-solver"),
    ),
    Mutation(
        "relaxation lost",
        "fit/settings.py",
        'RELAXATIONS.get(values["relaxation"])',
        'RELAXATIONS.get("penalty")',
        reach("SoftECM-relaxation"),
    ),
    Mutation(
        "kind of start lost", "fit/settings.py", "else Init(kind=init)", "else Init(kind='random')", reach("ECM-init")
    ),
    Mutation("sets lost", "fit/settings.py", "None if auto else sets)", "None)", reach("sets_that_are_given")),
    Mutation(
        "cardinality lost",
        "fit/settings.py",
        "FocalSets.make(c, largest, None if auto else sets)",
        "FocalSets.make(c, None, None if auto else sets)",
        reach("ECM-max_cardinality"),
    ),
    Mutation("gamma of CCM", "algorithms/ccm.py", "CCMAlgorithm(float(self.gamma))", "CCMAlgorithm(1.0)", reach("CCM")),
    Mutation("gamma of BCM", "algorithms/bcm.py", "BCMAlgorithm(float(self.gamma))", "BCMAlgorithm(1.0)", reach("BCM")),
    Mutation(
        "gamma of ECMdd",
        "algorithms/ecmdd.py",
        "EvidentialMedoids(float(self.gamma), float(self.eta))",
        "EvidentialMedoids(0.5, float(self.eta))",
        reach("ECMdd"),
    ),
    Mutation(
        "eta of ECMdd",
        "algorithms/ecmdd.py",
        "EvidentialMedoids(float(self.gamma), float(self.eta))",
        "EvidentialMedoids(float(self.gamma), 1.0)",
        reach("ECMdd"),
    ),
    Mutation(
        "centres of ECM+",
        "algorithms/ecm_plus.py",
        'AdaptiveECM(self.centers == "corrected", bool(self.adaptive))',
        "AdaptiveECM(True, bool(self.adaptive))",
        reach("ECMPlus"),
    ),
    Mutation(
        "adaptive of ECM+",
        "algorithms/ecm_plus.py",
        'AdaptiveECM(self.centers == "corrected", bool(self.adaptive))',
        'AdaptiveECM(self.centers == "corrected", True)',
        reach("ECMPlus"),
    ),
    Mutation("xi of CECM", "algorithms/cecm.py", "float(self.xi), self.variant)", "0.5, self.variant)", reach("CECM")),
    Mutation(
        "variant of CECM",
        "algorithms/cecm.py",
        "float(self.xi), self.variant)",
        'float(self.xi), "article")',
        reach("CECM"),
    ),
    Mutation(
        "metric of CECM", "algorithms/cecm.py", 'if self.metric == "adaptive" else', "if False else", reach("CECM")
    ),
    Mutation("variant of CEVCLUS", "algorithms/cevclus.py", 'self.variant == "evclust"', "False", reach("CEVCLUS")),
    Mutation("xi of CEVCLUS", "algorithms/cevclus.py", "* float(self.xi) /", "* 0.5 /", reach("CEVCLUS")),
    Mutation(
        "d0 of EVCLUS",
        "algorithms/conflicts.py",
        "            return float(self.d0)\n",
        "            pass\n",
        reach("EVCLUS-d0"),
    ),
    Mutation(
        "neighbours of EVCLUS",
        "algorithms/conflicts.py",
        "Pairs.random(n, int(k), rng)",
        "Pairs.random(n, n - 2, rng)",
        reach("EVCLUS-n_neighbors"),
    ),
    Mutation(
        "tol of EVCLUS",
        "algorithms/conflicts.py",
        "pairs, linked, float(self.tol))",
        "pairs, linked, 1e-5)",
        reach("EVCLUS-tol"),
    ),
    Mutation(
        "shift of RECM",
        "algorithms/recm.py",
        'shift = None if self.non_euclidean == "shift" else 0.0',
        "shift = 0.0",
        reach("RECM"),
    ),
    Mutation(
        "form of TECM",
        "algorithms/tecm.py",
        "float(self.transfer), self.form, float(self.eta), beside)",
        "float(self.transfer), SETS, float(self.eta), beside)",
        reach("TECM"),
    ),
    Mutation(
        "eta of TECM",
        "algorithms/tecm.py",
        "self.form, float(self.eta), beside)",
        "self.form, 2.0, beside)",
        reach("TECM"),
    ),
    Mutation(
        "beside of TECM",
        "algorithms/tecm.py",
        "beside = float(self.beside) if self.form == MATCHED else 0.0",
        "beside = 1.0 if self.form == MATCHED else 0.0",
        reach("TECM"),
    ),
    Mutation(
        "transfer of TECM",
        "algorithms/tecm.py",
        "centers_of(self.source), float(self.transfer)",
        "centers_of(self.source), 0.2",
        reach("TECM"),
    ),
    Mutation(
        "temperature of WMVEC",
        "algorithms/wmvec.py",
        "heats = float(self.temperature), float(self.feature_temperature)",
        "heats = 0.5, float(self.feature_temperature)",
        reach("WMVEC"),
    ),
    Mutation(
        "heat of WMVEC's columns",
        "algorithms/wmvec.py",
        "heats = float(self.temperature), float(self.feature_temperature)",
        "heats = float(self.temperature), float(self.temperature)",
        reach("WMVEC"),
    ),
    Mutation(
        "rule of WMVEC", "algorithms/wmvec.py", "WMVECAlgorithm(self.rule,", "WMVECAlgorithm(ENTROPY,", reach("WMVEC")
    ),
    Mutation(
        "scaling of WMVEC",
        "algorithms/wmvec.py",
        "SquaredEuclidean()), scaling=str(self.scaling))",
        "SquaredEuclidean()))",
        reach("WMVEC"),
    ),
    Mutation(
        "eta of MECMdd",
        "algorithms/mecmdd.py",
        "(self.alpha, self.beta, self.eta, self.lam)",
        "(self.alpha, self.beta, 1.0, self.lam)",
        reach("MECMdd"),
    ),
    Mutation(
        "gamma of MECMdd",
        "algorithms/mecmdd.py",
        "0.0 if self.form == view_medoids.FREE else float(self.gamma)",
        "0.0 if self.form == view_medoids.FREE else 0.5",
        reach("MECMdd"),
    ),
    Mutation(
        "counts of MECMdd",
        "algorithms/mecmdd.py",
        "self.form, gamma, eta, lam, counts)",
        "self.form, gamma, eta, lam, None)",
        "tests/algorithms/test_mecmdd.py tests/contracts/test_glue.py",
    ),
    Mutation(
        "q of EKNNClus",
        "algorithms/eknnclus.py",
        "scale_of(near, float(self.q),",
        "scale_of(near, 0.5,",
        reach("EKNNClus"),
    ),
    Mutation(
        "power of EKNNClus's votes",
        "algorithms/eknnclus.py",
        "votes_of(neighbours, strength_of(near, self.gamma_, float(self.power), self._least))",
        "votes_of(neighbours, strength_of(near, self.gamma_, 1.0, self._least))",
        reach("EKNNClus"),
    ),
    Mutation("decay of NNEVCLUS", "algorithms/nnevclus.py", "decay=float(self.decay)", "decay=0.0", reach("NNEVCLUS")),
    Mutation(
        "links' weight of NNEVCLUS",
        "algorithms/nnevclus.py",
        "link_weight=float(self.link_weight) if",
        "link_weight=0.5 if",
        reach("NNEVCLUS"),
    ),
    Mutation(
        "group size of NNEVCLUS",
        "algorithms/nnevclus.py",
        "min(n, self.group_size or 128)",
        "min(n, 128)",
        reach("NNEVCLUS"),
    ),
    Mutation("q of BPEC", "algorithms/bpec.py", "min(k, n - 1), float(self.q))", "min(k, n - 1), 0.9)", reach("BPEC")),
    Mutation(
        "alpha of BPEC",
        "algorithms/bpec.py",
        "alpha, beta, delta = float(self.alpha),",
        "alpha, beta, delta = 1.0,",
        reach("BPEC"),
    ),
    Mutation(
        "a fit commits as it goes",
        "_engine.py",
        "            fit(trial, *args, **named)",
        "            fit(self, *args, **named)",
        "tests/contracts/test_estimators.py -k changes_nothing",
    ),
    # ------------------------------------------------ numbers of groups, shapes, series and reports
    Mutation(
        "overlap of groups costs nothing",
        "selection/table_mixtures.py",
        " + 2.0 * entropy\n",
        "\n",
        "tests/selection",
    ),
    Mutation(
        "one category makes two groups",
        "selection/table_mixtures.py",
        "(gains[p:] > 0).sum() < 2",
        "(gains[p:] > 0).sum() < 1",
        "tests/selection",
    ),
    Mutation(
        "rows with codes for missing cells count as groups",
        "selection/evidence.py",
        "        sound &= ~rows\n",
        "        pass\n",
        "tests/selection",
    ),
    Mutation(
        "a search of its own goes no further than the first look",
        "selection/n_clusters.py",
        "if c > AS_FAR * search.best:",
        "if c > search.best:",
        "tests/selection",
    ),
    Mutation(
        "shapes that fit badly are trusted",
        "fit/group_shapes.py",
        "if continuous and mixture.misfit(sample, candidate) <= MISFIT and",
        "if continuous and",
        "tests/fit/test_group_shapes.py",
    ),
    Mutation(
        "a shape that moves nobody is taken",
        "fit/group_shapes.py",
        "_moved(sample, candidate, labels) <= SAME",
        "_moved(sample, candidate, labels) < 0.0",
        "tests/fit/test_group_shapes.py tests/algorithms/test_shapes_by_default.py",
    ),
    Mutation(
        "a prior does not pull at shaped groups",
        "fit/group_shapes.py",
        ", pull * every.counts.sum())",
        ", 0.0)",
        "tests/fit/test_shaped.py",
    ),
    Mutation(
        "chance keeps neighbours together, too",
        "distances/series_auto.py",
        "return (kept - chance) / (1.0 - chance) if",
        "return kept if",
        "tests/distances/test_series_auto.py",
    ),
    Mutation(
        "views count alike however clear their groups",
        "distances/series_auto.py",
        "max(own[view] / most, LEAST_WEIGHT)",
        "1.0",
        "tests/distances/test_series_auto.py",
    ),
    Mutation(
        "groups far apart are matched",
        "report/group_changes.py",
        "if distances[i, j] <= MATCHED}",
        "}",
        "tests/report/test_comparing.py",
    ),
    Mutation(
        "sliders for masses that are not theirs",
        "report/sections/what_if.py",
        "not np.abs(again - drawn.masses).max(initial=0.0) <= SAME",
        "False",
        "tests/report/test_build.py",
    ),
    # ------------------------------------------------ weights, starts, refits and sweeps
    Mutation(
        "weight of links lost",
        "algorithms/family.py",
        "WeightedPairs(must_link, cannot_link, weight)",
        "WeightedPairs(must_link, cannot_link, 1.0)",
        "tests/algorithms/test_constrained.py",
    ),
    Mutation(
        "weight of a prior lost",
        "algorithms/family.py",
        "known = None if prior is None else Prior.of(prior, prior_weight)",
        "known = None if prior is None else Prior.of(prior, 1.0)",
        "tests/algorithms/test_learning_on.py",
    ),
    Mutation(
        "known labels as starts lost",
        "algorithms/family.py",
        "seeds = tuple(groups) if len(groups) == self.n_clusters else ()",
        "seeds = ()",
        "tests/algorithms/test_constrained.py",
    ),
    Mutation(
        "a batch's weights lost",
        "algorithms/family.py",
        "objects = self._batch(chosen, X, sample_weight)\n            past = past.faded",
        "objects = self._batch(chosen, X, None)\n            past = past.faded",
        "tests/algorithms/test_learning_on.py",
    ),
    Mutation(
        "the first batch's weights lost",
        "algorithms/family.py",
        "objects, algorithm = self._batch(chosen, X, sample_weight), self._algorithm",
        "objects, algorithm = self._batch(chosen, X, None), self._algorithm",
        "tests/algorithms/test_learning_on.py",
    ),
    Mutation(
        "earlier batches don't fade",
        "algorithms/family.py",
        "            past = past.faded(keep)\n",
        "",
        "tests/algorithms/test_learning_on.py",
    ),
    Mutation(
        "pull of a prior on shaped groups, every cluster's",
        "algorithms/family.py",
        "pull = earlier.weight / chosen.n_clusters",
        "pull = earlier.weight",
        "tests/fit/test_shaped.py",
    ),
    Mutation(
        "pull of a prior counts rows, not weights",
        "fit/fitting.py",
        "prior.weight * objects.weight / c",
        "prior.weight * len(objects) / c",
        "tests/contracts/test_parameters_reach.py -k found_with",
    ),
    Mutation(
        "usual lambda counts rows, not weights",
        "fit/fitting.py",
        "0.2 * objects.weight / chosen.n_clusters**2",
        "0.2 * len(objects) / chosen.n_clusters**2",
        "tests/contracts/test_parameters_reach.py -k found_with",
    ),
    Mutation(
        "usual lambda of a gap counts rows",
        "fit/fitting.py",
        "lam = objects.weight if relaxation is Gap",
        "lam = float(len(objects)) if relaxation is Gap",
        "tests/contracts/test_parameters_reach.py -k found_with",
    ),
    Mutation(
        "cells of other seeds share a first stage",
        "fit/fitting.py",
        'key = f"{settings.random_state!r} {settings.n_init}',
        'key = f"{settings.n_init}',
        "tests/selection/test_sweep.py",
    ),
    Mutation(
        "cells of another beta have the first one's clusters",
        "fit/fitting.py",
        "again[i] = replace(ready.stage.single.chosen, beta=beta), ready.start",
        "again[i] = ready.stage.single.chosen, ready.start",
        "tests/contracts/test_glue.py -k beta_of",
    ),
    Mutation(
        "a model forgets with which delta its clusters were found",
        "fit/fitting.py",
        "close=stage.single.chosen.delta)",
        "close=None)",
        "tests/fit/test_outlying.py",
    ),
    Mutation(
        "a warm start forgets its delta",
        "fit/fitting.py",
        "    delta = last.delta if settings.finds_delta else settings.delta\n    settings = resolved(",
        "    delta = settings.delta\n    settings = resolved(",
        "tests/contracts/test_refits.py -k own_answer",
    ),
    Mutation(
        "a warm start forgets its sets",
        "fit/fitting.py",
        "focal = last.focal if settings.finds_sets and same else settings.focal",
        "focal = settings.focal",
        "tests/contracts/test_refits.py",
    ),
    Mutation(
        "delta of outliers is that of starts",
        "fit/stages.py",
        "initial_delta, OUTLYING) if settings.finds_delta else start.delta",
        "initial_delta, COMPARED) if settings.finds_delta else start.delta",
        "tests/fit/test_outlying.py",
    ),
    Mutation(
        "pairs of neighbours without regard to weights",
        "fit/prepare.py",
        "1.0 if counts is None else counts[rows])",
        "1.0)",
        "tests/contracts/test_glue.py -k does_not_count",
    ),
    Mutation(
        "distances of outliers without regard to weights",
        "fit/prepare.py",
        "median = weighted_quantile(distances, 0.5, self.counts)",
        "median = weighted_quantile(distances, 0.5, np.ones(len(distances)))",
        "tests/contracts/test_parameters_reach.py -k found_with",
    ),
    Mutation(
        "logarithms although the spread is equal",
        "distances/column_relevance.py",
        "if gain > GAIN and gain * counts.sum() > SURE]",
        "]",
        "tests/distances/test_log_columns.py",
    ),
    Mutation(
        "a few extreme numbers ask for logarithms",
        "distances/column_relevance.py",
        "np.minimum(far, weighted_quantile(far, counts, NEARLY_ALL))",
        "far",
        "tests/distances/test_log_columns.py",
    ),
    Mutation(
        "prototypes stay logarithms",
        "spaces/columns.py",
        "return np.exp(numbers + self.center) if self.log else numbers + self.center",
        "return numbers + self.center",
        "tests/distances/test_log_columns.py",
    ),
    Mutation(
        "the number of groups never by logarithms",
        "selection/evidence.py",
        "return by_logs or (None",
        "return (None",
        "tests/distances/test_log_columns.py",
    ),
    Mutation(
        "a largest dissimilarity is no limit",
        "distances/precomputed.py",
        ">= MANY else math.inf",
        ">= 2.0 else math.inf",
        "tests/fit/test_outlying.py",
    ),
    Mutation(
        "the missing direction of a matrix stays missing",
        "readers/matrices.py",
        "d = np.where(np.isnan(d), d.T, d)",
        "d = d + 0.0",
        "tests/cli/test_symmetrize.py",
    ),
    Mutation(
        "a labelled object in no group is in the group of its label",
        "cli/links.py",
        "if nowhere[i] or fitted",
        "if fitted",
        "tests/cli/test_known.py",
    ),
    Mutation(
        "page titles are rows",
        "readers/sniff.py",
        "again.append([*titles, number])",
        "again.append([number])",
        "tests/readers/test_as_people_write.py -k page",
    ),
    Mutation(
        "ids of new objects only in the fit's column",
        "readers/table.py",
        'described.kind == "id" and described.detail != COUNTS',
        "False",
        "tests/readers/test_names_of_rows.py",
    ),
    Mutation(
        "a stable group that calibration empties is found again",
        "report/sections/certainty.py",
        "value >= STABLE and part >= STAY",
        "value >= STABLE",
        "tests/calibration/test_calibrate.py",
    ),
    Mutation(
        "units of columns without regard to weights",
        "fit/prepare.py",
        "(space if own_weights is None else space.weighted(own_weights))",
        "space",
        "tests/distances/test_table_metrics.py",
    ),
    Mutation(
        "a metric learns without regard to weights",
        "fit/prepare.py",
        "own = None if weights is None else weights.cpu()",
        "own = None",
        "tests/distances/test_column_relevance.py",
    ),
    Mutation(
        "a far object is part of what is usual",
        "fit/prepare.py",
        "weights=usual_counts)))",
        "weights=counts)))",
        "tests/contracts/test_glue.py -k absurd",
    ),
    Mutation(
        "price of the constraint per row, not per weight",
        "fit/algorithm.py",
        "solution.constraint[run] / self.objects.weight)",
        "solution.constraint[run] / len(self.objects))",
        "tests/contracts/test_glue.py -k objective_per",
    ),
    Mutation(
        "a score without its weights",
        "fit/settings.py",
        "np.average(values, weights=weights)) + self.tie",
        "np.average(values)) + self.tie",
        "tests/contracts/test_glue.py -k objective_per",
    ),
    Mutation(
        "another alpha of a prediction lost",
        "fit/settings.py",
        'alpha=self.alpha if alpha is None else check_number("alpha", alpha, hint="1 is usual.", least=0)',
        "alpha=self.alpha",
        "tests/report/test_build.py",
    ),
    Mutation(
        "seed of a search lost",
        "selection/n_clusters.py",
        "    if random_state is not None:\n        base = clone",
        "    if False:\n        base = clone",
        "tests/selection/test_n_clusters.py -k the_seed_is",
    ),
    Mutation(
        "sample of a search is always the same",
        "selection/n_clusters.py",
        "0 if random_state is None else random_state)",
        "0)",
        "tests/selection/test_n_clusters.py -k the_seed_is",
    ),
    Mutation(
        "weights of a sweep lost",
        "selection/sweeping.py",
        "own, Data(data, known, weights,",
        "own, Data(data, known, None,",
        "tests/selection/test_sweep.py",
    ),
    Mutation(
        "a journal takes other weights for its own",
        "selection/sweeping.py",
        "digest(data, labels, weights))",
        "digest(data, labels))",
        "tests/selection/test_sweep.py -k another_sweep",
    ),
    Mutation(
        "a journal takes other numbers of resamples",
        "selection/sweeping.py",
        "short_hash((grid, resamples))",
        "short_hash(grid)",
        "tests/selection/test_sweep.py -k another_sweep",
    ),
    Mutation(
        "lambda of resamples not scaled",
        "selection/stability.py",
        "scaled = [s if s.lam is None else replace(s, lam=s.lam * share) for s in settings]",
        "scaled = settings",
        "tests/contracts/test_guards.py -k lambda",
    ),
    Mutation(
        "seed of a calibration lost",
        "calibration/calibrating.py",
        "Refitting(model, X, resample, bool(warm), seed)",
        "Refitting(model, X, resample, bool(warm), 0)",
        "tests/calibration/test_calibrate.py -k a_seed_and",
    ),
    Mutation(
        "level of sets' intervals lost",
        "calibration/calibrating.py",
        "_set_ends(before, refitting.concerned, moved, level)",
        "_set_ends(before, refitting.concerned, moved, 0.9)",
        "tests/calibration/test_calibrate.py -k a_seed_and",
    ),
    Mutation(
        "refits from scratch not asked for",
        "calibration/calibrating.py",
        "Refitting(model, X, resample, bool(warm), seed)",
        "Refitting(model, X, resample, True, seed)",
        "tests/calibration/test_calibrate.py -k each_have",
    ),
    Mutation(
        "refits from scratch with one seed",
        "calibration/refitting.py",
        "again.set_params(random_state=b)",
        "again.set_params(random_state=0)",
        "tests/calibration/test_calibrate.py -k each_have",
    ),
    Mutation(
        "novelty lost in a prediction",
        "algorithms/nnevclus.py",
        "novelty = None if self._detector is None else torch.from_numpy(Detector(*self._detector).scores(rows))",
        "novelty = None",
        "tests/algorithms/test_nnevclus.py",
    ),
    Mutation(
        "dissimilarities of NNEVCLUS lost",
        "algorithms/nnevclus.py",
        "self._distances(x, dissimilarities)",
        "self._distances(x, None)",
        "tests/algorithms/test_nnevclus.py",
    ),
    Mutation(
        "weights of EGMM's starts lost",
        "algorithms/egmm.py",
        "x, sample.counts, c, rng).numpy()",
        "x, np.ones(len(x)), c, rng).numpy()",
        "tests/algorithms/test_egmm.py",
    ),
    Mutation(
        "criterion of EGMM without the columns",
        "algorithms/egmm.py",
        "ebic(likelihood, sample.total, focal, sample.x.shape[1])",
        "ebic(likelihood, sample.total, focal, 1)",
        "tests/algorithms/test_egmm.py -k every_parameter",
    ),
    Mutation(
        "weights of ECMdd's ranking lost",
        "algorithms/ecmdd.py",
        "_ranking(d, weights))",
        "_ranking(d, None))",
        "tests/algorithms/test_ecmdd.py -k equally_good",
    ),
    Mutation(
        "squares of RECM not as asked",
        "algorithms/recm.py",
        'AffineDistance(self.dissimilarity == "squared", shift)',
        "AffineDistance(False, shift)",
        "tests/contracts/test_parameters_reach.py -k RECM",
    ),
    # ------------------------------------------------ options of commands, readers, predictions, searches
    Mutation(
        "--unit's count taken the wrong way round",
        "readers/units.py",
        "own = next((1.0 / count for name",
        "own = next((count for name",
        "tests/readers/test_as_people_write.py -k units_without",
    ),
    Mutation(
        "--unit of the fit lost in a prediction",
        "readers/base.py",
        "written=written, known=known, unit=unit)",
        "written=written, known=known)",
        "tests/cli/test_predict_columns.py -k units_and_marks",
    ),
    Mutation(
        "channel of the fit lost in a prediction",
        "cli/predict.py",
        "channel=options.channel or first.channel,",
        "channel=options.channel,",
        "tests/cli/test_views_cli.py -k channels_of",
    ),
    Mutation(
        "--missing of the fit lost in a prediction",
        "cli/predict.py",
        "missing=options.missing or first.missing,",
        "missing=options.missing,",
        "tests/cli/test_predict_columns.py -k units_and_marks",
    ),
    Mutation(
        "unit of the fit's column lost",
        "readers/numbers.py",
        '"" if known is None else known.unit, choice)',
        '"", choice)',
        "tests/readers/test_reading.py -k another_unit",
    ),
    Mutation(
        "decimal sign of the fit's column lost",
        "readers/numbers.py",
        "decimal = known.decimal if known is not None else _decimal(",
        "decimal = _decimal(",
        "tests/readers/test_as_people_write.py -k read_as_the_first",
    ),
    Mutation(
        "times of a long table as text",
        "readers/series.py",
        "order = time_order(times)\n    if options.states:",
        "order = time_order(frame[options.time])\n    if options.states:",
        "tests/readers/test_steps.py",
    ),
    Mutation(
        "channels of a prediction in their own order",
        "readers/series.py",
        "names = options.expected.names if options.expected and options.expected.names else levels",
        "names = levels",
        "tests/readers/test_steps.py",
    ),
    Mutation(
        "times of day of the fit's column not known",
        "readers/columns.py",
        "known=known is not None and known.dates == WRITTEN.dates)",
        "known=False)",
        "tests/readers/test_times_of_day.py",
    ),
    Mutation(
        "few of all pairs of names and times still look like steps",
        "readers/steps.py",
        'return rows <= cells and (when.kind == "date" or rows >= FILLED * cells)',
        "return rows <= cells",
        "tests/readers/test_steps.py",
    ),
    Mutation(
        "a column without weight must read as in the fit",
        "readers/table.py",
        "    if name not in expected.optional:\n",
        "    if True:\n",
        "tests/cli/test_predict_columns.py -k may_hold_anything",
    ),
    Mutation(
        "rows left out renumber the others",
        "readers/table.py",
        "elif int(frame.index[-1]) >= len(frame):",
        "elif False:",
        "tests/readers/test_as_people_write.py -k keep_their_numbers",
    ),
    Mutation(
        "the next command forgets how long a sweep may iterate",
        "cli/sweep.py",
        'if "max_iter" not in typed.specified:',
        "if False:",
        "tests/cli/test_sweep_command.py -k next_command",
    ),
    Mutation(
        "the next command forgets the best run's seed",
        "cli/sweep.py",
        '{"seed": best.random_state}',
        '{"seed": 0}',
        "tests/cli/test_sweep_command.py -k next_command",
    ),
    Mutation(
        "settings of a sweep's fits lost",
        "cli/sweep.py",
        "estimator=SoftECM(**params, metric=metric.metric)",
        "estimator=SoftECM(metric=metric.metric)",
        "tests/cli/test_sweep_command.py -k every_setting",
    ),
    Mutation(
        "--level of a calibration lost",
        "cli/calibrate.py",
        "level=options.level,",
        "",
        "tests/cli/test_calibrate_command.py -k every_option",
    ),
    Mutation(
        "--anew of a calibration lost",
        "cli/calibrate.py",
        "warm=not options.anew,",
        "",
        "tests/cli/test_calibrate_command.py -k every_option",
    ),
    Mutation(
        "--clear lost in the table of a fit",
        "cli/source.py",
        "table = partition_table(model.partition_, self.loaded.names, clear,",
        "table = partition_table(model.partition_, self.loaded.names, 0.75,",
        "tests/cli/test_decisions.py",
    ),
    Mutation(
        "--clear lost in the table of a prediction",
        "cli/predict.py",
        "table = partition_table(partition, loaded.names, clear, joined)",
        "table = partition_table(partition, loaded.names, 0.75, joined)",
        "tests/cli/test_decisions.py",
    ),
    Mutation(
        "--lam of rules lost",
        "cli/explain.py",
        "ExplanationTree(options.lam)",
        "ExplanationTree()",
        "tests/cli/test_explain_command.py -k folder_is_explained",
    ),
    Mutation(
        "--clear of the folder lost in an explanation",
        "cli/explain.py",
        "loaded.names, folder.clear, folder.partition)",
        "loaded.names, 0.75, folder.partition)",
        "tests/cli/test_decisions.py",
    ),
    Mutation(
        "row of --object counts only rows with a value",
        "cli/explain.py",
        'if index is None or index.dtype.kind != "i" else',
        "if True else",
        "tests/cli/test_explain_command.py -k row_is_that",
    ),
    Mutation(
        "--scale robust is standard",
        "cli/metric.py",
        'scaling={"standard": "std"}.get(scale, scale)',
        'scaling="std"',
        "tests/cli/test_reading.py -k far_value",
    ),
    Mutation(
        "--clear lost in the masses of a streamed file",
        "cli/source.py",
        'dtype="float32", ids=ids, clear=clear)',
        'dtype="float32", ids=ids)',
        "tests/cli/test_decisions.py -k in_blocks",
    ),
    Mutation(
        "rows of a streamed sample counted from each batch",
        "cli/source.py",
        "places.append(here + first)",
        "places.append(here)",
        "tests/cli/test_stream.py -k knows_its_rows",
    ),
    Mutation(
        "-c 2-12 is auto",
        "cli/search.py",
        "candidates=candidates,\n                fit=one",
        "candidates=None,\n                fit=one",
        "tests/cli/test_commands.py -k too_close_to_call",
    ),
    Mutation(
        "n_init of a search on a sample",
        "selection/n_clusters.py",
        "set_params(n_init=min(task.base.n_init, RESTARTS))",
        "set_params(n_init=RESTARTS)",
        "tests/selection/test_n_clusters_hooks.py -k no_more_init",
    ),
    Mutation(
        "a search on a sample keeps the sample's model",
        "selection/n_clusters.py",
        "if X is not task.X:",
        "if False:",
        "tests/selection/test_n_clusters.py -k of_many_objects",
    ),
    Mutation(
        "ties of valleys by squared distances",
        "selection/n_clusters.py",
        'geometry.root() if self.rule == "valleys" else geometry',
        "geometry",
        "tests/selection/test_n_clusters_hooks.py -k ties_are",
    ),
    Mutation(
        "a journal takes another estimator's settings",
        "selection/sweeping.py",
        "described(c.model.get_params(False)))",
        "())",
        "tests/selection/test_sweep.py -k another_sweep",
    ),
    Mutation(
        "a journal takes another seed's resamples",
        "calibration/refitting.py",
        "{kind} {self.random_state} {self.form}",
        "{kind} {self.form}",
        "tests/calibration/test_calibrate.py -k of_another_seed",
    ),
    Mutation(
        "outliers count in refits by distances",
        "calibration/refitting.py",
        "learned = counts * ready.inside\n",
        "learned = counts\n",
        "tests/calibration/test_calibrate.py -k do_not_learn",
    ),
    Mutation(
        "level of some pairs' intervals lost",
        "calibration/calibrating.py",
        "compared_bounds(memberships, compared, level)",
        "compared_bounds(memberships, compared, 0.9)",
        "tests/calibration/test_calibrate.py -k some_pairs",
    ),
    Mutation(
        "sliders' distances not in the unit beside them",
        "report/sections/what_if.py",
        "np.nan_to_num(live.distances / unit",
        "np.nan_to_num(live.distances",
        "tests/report/test_build.py -k sliders",
    ),
    Mutation(
        "gone and new exchanged",
        "report/comparison.py",
        "in both]], (gone, new)",
        "in both]], (new, gone)",
        "tests/report/test_notebook.py -k compared_by_their_ids",
    ),
    Mutation(
        "matched names are the second's own",
        "report/comparison.py",
        "self.second.focal_sets.labels(self._names_in_first)",
        "self.second.focal_sets.labels()",
        "tests/report/test_comparing.py",
    ),
    Mutation(
        "delta of a checkpoint lost",
        "fit/fitting.py",
        'facts["sets"]), delta=facts["delta"])',
        'facts["sets"]))',
        "tests/test_checkpoints.py -k whatever_phase",
    ),
    Mutation(
        "runs of a checkpoint lost",
        "fit/fitting.py",
        "begun = None if runs is None else",
        "begun = None if True else",
        "tests/test_checkpoints.py -k whatever_phase",
    ),
    Mutation(
        "a doubt counts weights as objects",
        "fit/fitting.py",
        "counts = counts * (counts.sum() / np.square(counts).sum())",
        "pass",
        "tests/selection/test_n_clusters.py -k neither_copies",
    ),
    Mutation(
        "checkpoint_every lost",
        "fit/checkpoints.py",
        "rounds.iteration % self.request.every == 0 or",
        "True or",
        "tests/test_checkpoints.py -k every_few",
    ),
    # ------------------------------------------------ the number of groups
    Mutation(
        "categories that follow numbers make groups",
        "selection/table_mixtures.py",
        "coefficients[:, mixture.column == j] = 0.0",
        "pass",
        "tests/selection/test_mixtures.py",
    ),
    Mutation(
        "groups of five in a hundred do not count",
        "selection/table_mixtures.py",
        "PART = 0.12",
        "PART = 0.2",
        "tests/selection/test_mixtures.py",
    ),
    Mutation(
        "rounded numbers lie in two ranges",
        "selection/table_mixtures.py",
        "scale[tie[order]] + (place - 0.5) * width",
        "scale[tie[order]]",
        "tests/selection/test_mixtures.py",
    ),
    Mutation(
        "a new group is another of the same name",
        "report/group_changes.py",
        "if (here, there) not in same]",
        "if here != there and (here, there) not in same]",
        "tests/report/test_comparing.py",
    ),
    Mutation(
        "valleys between medoids as between means",
        "selection/batch.py",
        "0.0, are_means=False)",
        "0.0, are_means=True)",
        "tests/selection/test_n_clusters.py tests/selection/test_rules.py",
    ),
]


def tried(tests: str, copy: Path) -> int:
    """Return pytest's exit code in a copy of the tree."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests.split()]
    own = [str(copy / part) for part in ("src", "paper/src", "tests")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*own, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(command, cwd=copy, env=env, capture_output=True, check=False).returncode


WITHOUT: dict[str, bool] = {}


def pass_without(tests: str, copy: Path) -> bool:
    """Whether tests pass without a bug, run once for all mutations that list them."""
    if tests not in WITHOUT:
        WITHOUT[tests] = tried(tests, copy) == 0
    return WITHOUT[tests]


def outcome(mutation: Mutation, copy: Path) -> str:
    """Return whether the tests, which pass without it, detect the bug in a copy of the tree."""
    target = copy / "src/softecm" / mutation.file
    source = target.read_text(encoding="utf-8") if target.exists() else ""
    if mutation.old not in source:
        return "stale"
    if not pass_without(mutation.tests, copy):
        return "tests fail without it"
    target.write_text(source.replace(mutation.old, mutation.new, 1), encoding="utf-8")
    try:
        code = tried(mutation.tests, copy)
    finally:
        target.write_text(source, encoding="utf-8")
    return {0: "survived", 1: "killed"}.get(code, f"pytest ended with {code}")


def main(arguments: list[str]) -> int:
    """Run the mutations whose names contain one of the words, or all; print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--workers", type=int, default=1, help="mutations tried at once")
    options = parser.parse_args(arguments)
    chosen = [m for m in MUTATIONS if not options.words or any(word in m.name for word in options.words)]
    copies = queue.SimpleQueue[Path]()

    def in_a_copy(mutation: Mutation) -> str:
        copy = copies.get()
        try:
            result = outcome(mutation, copy)
        finally:
            copies.put(copy)
        print(f"{result:10s} {mutation.name:45s} {mutation.file}", flush=True)
        return result

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        for k in range(options.workers):
            copy = Path(folder) / str(k)
            shutil.copytree(TOP, copy, ignore=shutil.ignore_patterns(".git", ".venv", "docs", "__pycache__", "out"))
            copies.put(copy)
        killed = list(pool.map(in_a_copy, chosen)).count("killed")
    print(f"{killed} of {len(chosen)} killed")
    return 0 if killed == len(chosen) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
