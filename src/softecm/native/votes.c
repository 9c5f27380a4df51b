/* Labels by the votes of neighbours: one sweep through the objects, each taking the label that weighs most around it. */
#include "common.h"

/* One sweep, as ``kernels.votes.sweep`` says; `votes` (n,) is zero. Returns by how much the weights between labels fell. */
EXPORT double votes_sweep(const int64_t *neighbours, const double *weights, int64_t k, const int64_t *back,
                          const int64_t *starts, const int64_t *order, int64_t turns, int64_t *labels, uint8_t *due,
                          double *votes) {
    double gained = 0.0;
    for (int64_t turn = 0; turn < turns; turn++) {
        int64_t i = order[turn], old = labels[i], winner = old;
        const int64_t *near = neighbours + i * k;
        const double *weight = weights + i * k;
        double most = -1.0;
        if (!due[i]) continue;
        due[i] = false;
        for (int64_t t = 0; t < k; t++) votes[labels[near[t]]] += weight[t];
        for (int64_t t = 0; t < k; t++) {
            int64_t label = labels[near[t]];
            if (votes[label] > most || (votes[label] == most && label < winner)) most = votes[label], winner = label;
        }
        gained += most - votes[old];
        for (int64_t t = 0; t < k; t++) votes[labels[near[t]]] = 0.0;
        if (winner == old) continue;
        labels[i] = winner;
        for (int64_t p = starts[i]; p < starts[i + 1]; p++) { /* whoever has i for a neighbour */
            int64_t j = back[p] / k;
            due[j] = true;
            if (labels[j] == winner) gained += weights[back[p]];
            else if (labels[j] == old) gained -= weights[back[p]];
        }
    }
    return 0.5 * gained;
}

/* Half the weights of neighbours with different labels. */
EXPORT double votes_between(const int64_t *neighbours, const double *weights, int64_t n, int64_t k, const int64_t *labels) {
    double total = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < k; t++)
            if (labels[neighbours[i * k + t]] != labels[i]) total += weights[i * k + t];
    return 0.5 * total;
}

/* Count the different labels around each object into `starts` (n + 1,); or, where `columns` is there, write them down with
 * the sums of their votes. `votes` (n,) is zero, `seen` (n,) holds -1. */
EXPORT void votes_tally(const int64_t *neighbours, const double *weights, int64_t n, int64_t k, const int64_t *labels,
                        double *votes, int64_t *seen, int64_t *starts, int64_t *columns, double *sums) {
    for (int64_t i = 0; i < n; i++) {
        int64_t at = columns ? starts[i] : 0;
        for (int64_t t = 0; t < k; t++) {
            int64_t label = labels[neighbours[i * k + t]];
            votes[label] += weights[i * k + t];
            if (seen[label] == i) continue;
            seen[label] = i;
            if (columns) columns[at] = label;
            at++;
        }
        if (columns)
            for (int64_t s = starts[i]; s < at; s++) sums[s] = votes[columns[s]];
        else
            starts[i + 1] = starts[i] + at;
        for (int64_t t = 0; t < k; t++) votes[labels[neighbours[i * k + t]]] = 0.0;
    }
}
