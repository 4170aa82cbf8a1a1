/*
 * distributed.h: sums and extremes over a vector that is distributed over threads and processes.
 *
 * A process holds `count` of the entries, the first of them at global place `first`. Threads take contiguous
 * shares whose results are joined in order, then the communication table joins the processes: the same
 * number of threads and processes gives the same bits.
 */
#ifndef NADIR_LINALG_DISTRIBUTED_H
#define NADIR_LINALG_DISTRIBUTED_H

#include "core/context.h"

/* How many sums are made at once, at most. */
enum { NADIR_SUMS_LIMIT = 8 };

/* Adds the terms of the entries [first, end) of this process to sums[kinds]. `data` is the caller's; several
 * threads call at once, for different entries. */
typedef void nadir_sum_terms(void *data, int64_t first, int64_t end, double *sums);

/* totals[kinds] <- the sums over all entries of all processes. Terms are added plainly within short blocks
 * and with compensation beyond: off by a few dozen roundings of the sum of the sizes at most, whatever the
 * count. `cost`: how many multiplications an entry is worth. */
nadir_status nadir_sums(nadir_context *context, int64_t count, int64_t cost, nadir_sum_terms *terms,
                        void *data, int kinds, double *totals);

/* A number of each process joined with those of all others: sum, largest, smallest; whether it holds for all
 * of them. A NaN stays one. Without other processes the number itself. */
double nadir_allreduce_sum(const nadir_context *context, double own);
double nadir_allreduce_maximum(const nadir_context *context, double own);
double nadir_allreduce_minimum(const nadir_context *context, double own);
bool nadir_allreduce_and(const nadir_context *context, bool own);

/* The functions of vector.h of like names over all entries of all processes, of which this one has `count`.
 * The error of a product includes what joining rounds away. */
int64_t nadir_global_count(const nadir_context *context, int64_t count);
double nadir_global_sum(const nadir_context *context, int64_t count, const double *x);
double nadir_global_largest(const nadir_context *context, int64_t count, const double *x);
double nadir_global_dot(const nadir_context *context, int64_t count, const double *x, const double *y,
                        double *error);
double nadir_global_norm_1(const nadir_context *context, int64_t count, const double *x);
/* Off by less than 40 roundings, and one for each process. */
double nadir_global_norm_2(const nadir_context *context, int64_t count, const double *x);

/* How many entries the processes before this one have. */
int64_t nadir_global_first(const nadir_context *context, int64_t count);

/* With the places where they stand, the lowest among equals. Of no entries: -infinity and infinity. */
typedef struct nadir_extremes {
    nadir_indexed largest;
    nadir_indexed smallest;
} nadir_extremes;

/* Over all entries of all processes; NADIR_ERROR_ARGUMENT, on every process, when one is not finite. */
nadir_status nadir_extremes_find(nadir_context *context, int64_t first, int64_t count, const double *x,
                                 nadir_extremes *extremes);

/* The largest size of all entries, 0 of none. */
double nadir_extremes_size(const nadir_extremes *extremes);

/* A power of two that brings numbers of this size to about 1 without rounding those that matter; the products
 * with it and with its inverse neither overflow nor vanish. */
double nadir_scale_for(double size);

#endif
