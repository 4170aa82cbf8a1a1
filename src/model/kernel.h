/*
 * kernel.h: a transition kernel as something that can be averaged over a policy and applied.
 *
 * A kernel has one row for each row of its model: the nominal row, or a row of its own, and from all of them
 * a multiple of one vector may be taken:
 *
 *     P(.|s, a) = (changed row or nominal row) - b(s, a) k
 *
 * or it is perturbed, see below. Nothing outside this folder knows of what a kernel is made: others ask for
 * products with its rows, or for its average over a policy (average.h). Products with a perturbed kernel use
 * work space of the kernel: one at a time.
 */
#ifndef NADIR_MODEL_KERNEL_H
#define NADIR_MODEL_KERNEL_H

#include "core/context.h"
#include "model/model.h"

typedef struct nadir_kernel nadir_kernel;

/* Rows that differ from the nominal ones, as CSR. */
typedef struct nadir_changed_rows {
    int64_t count;
    const int64_t *rows;    /* [count] which rows, rising */
    const int64_t *starts;  /* [count + 1] */
    const int32_t *columns; /* [starts[count]] rising within a row */
    const double *values;   /* [starts[count]] of any sign */
} nadir_changed_rows;

/* The nominal kernel. Kernels keep their model alive; all arrays are copied. */
nadir_status nadir_kernel_create(nadir_context *context, nadir_model *model, nadir_kernel **kernel);
/* Nominal - b k^T; b: [rows], k: [states]. */
nadir_status nadir_kernel_create_rank_one(nadir_context *context, nadir_model *model, const double *b,
                                          const double *k, nadir_kernel **kernel);
/* Some, or all, rows changed. */
nadir_status nadir_kernel_create_changed(nadir_context *context, nadir_model *model,
                                         const nadir_changed_rows *changed, nadir_kernel **kernel);

/*
 * A kernel with numbers of its own on the nominal successors and, in each row, an amount on others that is a
 * line in a value x of the successor, over the first states in rising order of x:
 *
 *     P(t|row) = values[entry of t]                     where the model has the transition,
 *                omega[row] - slope[row] x[t]           elsewhere, if t is among order[0 .. length[row] - 1],
 *                0                                      otherwise,
 *
 * and to one state extra[row] that the model's row does not have, amount[row] is added on top. The line is
 * the one through the last of its states, whose amount is omega - slope x as double arithmetic has it: who
 * found that to be 0 or more is right about all of them, if slope >= 0.
 *
 * So sparse models stay sparse: the second part is never stored, and applied by sums along the order. Made
 * with all rows nominal, the states in order, lengths of zero and no extra state; the caller fills in the
 * arrays, and again whenever it likes: then nadir_occupancy_update or the like is due.
 */
typedef struct nadir_perturbed {
    double *values; /* [nonzeros]; dense models: [rows * states] */
    bool *nominal;  /* [rows] the row is the nominal one; what it has in `values` is never looked at */
    /* NULL without a tail: */
    double *x;       /* [states] finite */
    int32_t *order;  /* [states] all of them, x[order[0]] <= x[order[1]] <= ... */
    double *omega;   /* [rows] */
    double *slope;   /* [rows] */
    int32_t *length; /* [rows] 0 .. states */
    int32_t *extra;  /* [rows] a state that the model's row does not have; -1: none */
    double *amount;  /* [rows] used where there is an extra state */
} nadir_perturbed;

/* with_tail: successors that the model does not have are possible; dense models have all and ignore it. All
 * rows are nominal: who writes the numbers of one clears its flag. */
nadir_status nadir_kernel_create_blank(nadir_context *context, nadir_model *model, bool with_tail,
                                       nadir_kernel **kernel);
/* Its arrays, to be filled; NULL when the kernel is not of this kind. */
nadir_perturbed *nadir_kernel_perturbed(nadir_kernel *kernel);

void nadir_kernel_free(nadir_kernel *kernel);

/* Of kernels Phat - b k^T: *b [rows], *k [states], as long as the kernel lives; both NULL for the nominal
 * kernel. False: the kernel is of another kind. */
bool nadir_kernel_rank_one(const nadir_kernel *kernel, const double **b, const double **k);

const nadir_model *nadir_kernel_model(const nadir_kernel *kernel);

/* Whether a row is known to be the nominal one, without a look at its numbers. */
bool nadir_kernel_is_nominal(const nadir_kernel *kernel, int64_t row);

/* y[row] = sum over t of P(t|row) x[t], for every row; x: [states], y: [rows]. */
void nadir_kernel_multiply(const nadir_context *context, const nadir_kernel *kernel, const double *x,
                           double *y);

/* Whether a device makes the products of all rows, faster than they are made here. */
bool nadir_kernel_is_on_device(const nadir_context *context, const nadir_kernel *kernel);

/* A vector made ready for products with rows: what these have in common. */
typedef struct nadir_kernel_vector {
    const double *x;                     /* [states] and ghosts */
    double shift;                        /* k . x */
    const struct nadir_prefix_sum *sums; /* [states] along the order of a perturbed kernel, or NULL */
} nadir_kernel_vector;

/* O(states). x must stay, and the kernel as it is; good until the kernel, or with several processes any
 * kernel of the model, is used for anything but rows. */
nadir_kernel_vector nadir_kernel_prepare(const nadir_context *context, const nadir_kernel *kernel,
                                         const double *x);
/* sum over s with d(s) > 0 of d(s) sum over a of pi(a|s) (P - P')(.|s,a) . x, P' being `from`: differences
 * are taken first, so that nothing of them is lost. d: [states], pi: [rows], x: [states]; nothing is kept for
 * a row. Threaded, over all processes, and the same for any number of threads. */
double nadir_kernel_difference_product(const nadir_context *context, const nadir_kernel *from,
                                       const nadir_kernel *to, const double *d, const double *pi,
                                       const double *x);
/* The numbers of a row on the successors of the model's row, where the kernel has just these; NULL otherwise,
 * and of dense rows. */
const double *nadir_kernel_on_support(const nadir_kernel *kernel, int64_t row);
/* The same as nadir_kernel_multiply for rows first .. end - 1 alone and on the calling thread, into y[row -
 * first]: for loops over rows that do more than products. */
void nadir_kernel_multiply_rows(const nadir_kernel *kernel, const nadir_kernel_vector *vector, int64_t first,
                                int64_t end, double *y);

/* What holds for every row. Rounding is included: the exact numbers obey these limits. */
typedef struct nadir_kernel_size {
    double sum_low, sum_high; /* of sum over t of P(t|row): 1 up to rounding for a kernel that is one */
    double largest;           /* at least sum over t of |P(t|row)| */
    double rounding; /* a product of a row with x is computed with an error of at most this times max |x| */
} nadir_kernel_size;

/* O(entries). */
void nadir_kernel_measure(const nadir_context *context, const nadir_kernel *kernel, nadir_kernel_size *size);

/* The smallest entry of the kernel, which may be negative. O(entries). */
nadir_status nadir_kernel_minimum(nadir_context *context, const nadir_kernel *kernel, double *minimum);
/* The same of nominal - b k^T, without making that kernel; b: [rows], k: [states]. Most rows are not read. */
nadir_status nadir_rank_one_minimum(nadir_context *context, const nadir_model *model, const double *b,
                                    const double *k, double *minimum);

/* The kernel as the kernel of a model of its own, with everything else that its model has; rewards stay those
 * of the rows. All entries are stored, also those that this kernel does not store. NADIR_ERROR_UNSUPPORTED
 * when an entry is negative by more than rounding; what is negative by rounding becomes zero. */
nadir_status nadir_kernel_to_model(nadir_context *context, const nadir_kernel *kernel, nadir_model **model);

/*
 * a row of a sparse matrix in the making, from entries in any order.
 */

typedef struct nadir_sparse_accumulator {
    int64_t states;
    double *sums;   /* [states] zero where there is no entry */
    bool *present;  /* [states] */
    int32_t *found; /* [states] in the order in which they came */
    int64_t count;
} nadir_sparse_accumulator;

/* A struct of zeros is empty. On failure nothing is left. */
nadir_status nadir_sparse_accumulator_make(nadir_context *context, int64_t states,
                                           nadir_sparse_accumulator *accumulator);
void nadir_sparse_accumulator_clear(nadir_context *context, nadir_sparse_accumulator *accumulator);

static inline void nadir_sparse_accumulator_add(nadir_sparse_accumulator *accumulator, int64_t state,
                                                double value)
{
    if (!accumulator->present[state]) {
        accumulator->present[state] = true;
        accumulator->found[accumulator->count++] = (int32_t)state;
    }
    accumulator->sums[state] += value;
}

/* Writes the row with rising columns and returns how many entries it has; none are left. */
int64_t nadir_sparse_accumulator_take(nadir_sparse_accumulator *accumulator, int32_t *columns,
                                      double *values);

/* The rows of a kernel of any kind, entry by entry. */

/* Of one kernel, which is kept, not retained, and must stay as it is. A struct of zeros is empty. */
typedef struct nadir_explicit {
    const nadir_kernel *kernel;
    nadir_sparse_accumulator accumulator;
    int32_t *columns;  /* [states] of the row that was asked for last */
    double *values;    /* [states] */
    int64_t k_count;   /* of k: how many entries are not zero, */
    int32_t *k_states; /* [k_count] and where */
} nadir_explicit;

nadir_status nadir_explicit_make(nadir_context *context, const nadir_kernel *kernel,
                                 nadir_explicit *explicit_rows);
void nadir_explicit_clear(nadir_context *context, nadir_explicit *explicit_rows);

/* How many entries a row has at most. */
int64_t nadir_explicit_bound(const nadir_explicit *explicit_rows, int64_t row);

/* The entries of a row that are not zero, which may be negative, by rising column (columns is never NULL);
 * valid until the next call. O(entries), and putting them in order. */
nadir_row nadir_explicit_row(nadir_explicit *explicit_rows, int64_t row);

/* The numbers of all states, [states], where the kernel has them as they are; NULL otherwise. */
const double *nadir_explicit_dense_row(const nadir_explicit *explicit_rows, int64_t row);

#endif
