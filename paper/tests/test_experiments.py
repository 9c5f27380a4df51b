from softecm_paper import EXPERIMENTS


def test_every_experiment_is_a_module_with_a_run() -> None:
    assert list(EXPERIMENTS) == ["diamond", "cbf", "mixture", "table", "lambda", "rules"]
    assert all(callable(experiment.load()) for experiment in EXPERIMENTS.values())
