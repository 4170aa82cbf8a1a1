/*
 * kernel_draws.h: kernels of the posterior of one policy, NADIR_LANES at a time.
 *
 * The kernels of a batch share their seen successors: an entry is an array of lanes, and every loop over an entry is one
 * over its lanes, which compilers turn into vector instructions. Where many successors are possible that were not seen, a
 * kernel has few of them: these extras are listed, each with its lane.
 */
#ifndef NADIR_FIT_KERNEL_DRAWS_H
#define NADIR_FIT_KERNEL_DRAWS_H

#include "fit/returns.h"
#include "fit/variates.h"

enum { NADIR_LANES = 8 };

/* NADIR_LANES doubles, wherever they lie. */
typedef double nadir_lanes __attribute__((vector_size(8 * 8), aligned(8)));

/* A row that the policy takes. */
typedef struct nadir_drawn_row {
    int64_t row, state;
    double weight;         /* pi(a|s) */
    bool known;            /* its entries are probabilities; else shapes of gamma variates */
    int64_t first, end;    /* its entries */
    int64_t others, other; /* successors that are possible besides: their number, the first of them */
    double each;           /* shape of each */
    double caution;        /* visits that cautious draws add to the worst successor */
    int32_t worst_of;      /* of so many draws it is the worst */
    int64_t ratio,
        ratios;  /* shares of its deviation that rivals known better have: the first, their number */
    double mean; /* of what it pays, and v afterwards, with these shapes */
    double square, freedom; /* of rewards; square 0: they do not vary */
} nadir_drawn_row;

/* What is drawn. */
typedef struct nadir_draw_plan {
    nadir_context *context;
    const nadir_return_problem *problem;
    const nadir_return_measure *measure;
    const nadir_return_draws *draws; /* given, as all above */
    int64_t states, count;
    nadir_drawn_row *rows;  /* [count] in the order of states */
    int64_t *state_entries; /* [states + 1] first entry of each state */
    int32_t *columns;       /* [entries] */
    double *shapes;         /* [entries] */
    nadir_gamma *gammas;    /* [entries] of these shapes, where the row is not known */
    double *rewards;        /* [entries] */
    double *visits;         /* [entries] behind the reward; 0: it is assumed */
    int32_t *other_columns; /* successors besides */
    double *other_rewards;
    double *ratios;
    int64_t most_others;
    int64_t most_entries; /* of a row */
    double limit;         /* of the span of rho */
} nadir_draw_plan;

/* A successor besides, of one kernel. */
typedef struct nadir_drawn_extra {
    int32_t state, column, lane;
    double value;
} nadir_drawn_extra;

/* A batch: P^pi and R^pi of each lane. */
typedef struct nadir_drawn {
    nadir_lanes *values; /* [entries] */
    nadir_lanes *R;      /* [states] */
    nadir_drawn_extra *extras;
    int64_t extra_count;
    size_t extra_capacity;
    double *kept;   /* [most_entries] of the worst draw of a row as yet */
    double *pieces; /* [most_others] */
    int64_t *marks; /* [most_others] number of the stick that took a place last */
    int64_t stick;
    bool failed; /* no room for extras */
} nadir_drawn;

/* Fills a plan whose members down to `draws` are set; pi: [rows] of the policy. To be cleared in any case. */
nadir_status nadir_draw_plan_make(const double *pi, nadir_draw_plan *self);
void nadir_draw_plan_clear(nadir_context *context, nadir_draw_plan *self);

/* Room for a batch. To be cleared in any case. */
nadir_status nadir_drawn_make(const nadir_draw_plan *self, nadir_drawn *drawn);
void nadir_drawn_clear(nadir_context *context, nadir_drawn *drawn);

/* Draws a batch: it depends on the seed, the rows and the number of the batch alone. */
void nadir_draw_batch(const nadir_draw_plan *self, nadir_drawn *use, int64_t batch);

#endif
