/*
 * truths.h: true models for simulations, and data that they make.
 */
#ifndef NADIR_BENCH_TRUTHS_H
#define NADIR_BENCH_TRUTHS_H

#include "core/random.h"
#include "fit/fit.h"

/* queue, treatment, grave, ring, reservoir, fishery; garnet30; inventory7; and the kinds of nadir_model_generate, some of their own size. */
nadir_model *bench_truth(nadir_context *context, const char *name);

typedef enum bench_visits {
    BENCH_EVEN,   /* every row as often */
    BENCH_UNEVEN, /* 0.1 to 5 times as often */
    BENCH_LOG     /* trajectories of 50 steps, half of the decisions optimal and half uniform */
} bench_visits;

/* Counts of every transition that a truth has. */
typedef struct bench_tally {
    nadir_model_data truth; /* with transitions listed, whatever the model has */
    int64_t *row_starts;
    int32_t *columns;
    double *P;      /* [nonzeros] the kernel that makes the data */
    double *counts; /* [nonzeros] */
} bench_tally;

/* The model must outlive it. */
bench_tally bench_tally_make(const nadir_model *model);
void bench_tally_clear(bench_tally *self);
/* Another kernel, drawn from the prior. */
void bench_tally_draw_truth(bench_tally *self, nadir_random *random);
/* Counts anew: `visits` of a row on average. optimal: [rows] probabilities, for trajectories. */
void bench_tally_fill(bench_tally *self, nadir_random *random, bench_visits how, int64_t visits,
                      const double *optimal);
/* So many visits more of a row. */
void bench_tally_visit(bench_tally *self, nadir_random *random, int64_t row, int64_t visits);
/* A fit of them, rewards frozen: the true successors are possible, or all states. */
nadir_fit *bench_tally_fit(nadir_context *context, const bench_tally *self, bool all, double confidence);

#endif
