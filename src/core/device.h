/*
 * device.h: what an engine with processors and memory of its own, a device, does for the one process that
 * uses it.
 *
 * The rows of a model are copied to the device once; averages over policies, their factors and all products
 * stay there. Vectors, [states] numbers each, come from the caller's memory and go back to it with every
 * call; where that is said they may also lie on the device, and stay there. Whoever calls sees nothing else
 * of the device. All calls are made by one thread at a time; every one of them gives the same bits for the
 * same numbers, as long as the device has as much memory left.
 */
#ifndef NADIR_CORE_DEVICE_H
#define NADIR_CORE_DEVICE_H

#include "nadir.h"

/* Rows of a kernel, or of a square matrix, in the caller's memory: one of dense and starts is not NULL. */
typedef struct nadir_device_rows {
    int64_t states, rows;
    const int64_t *state_rows; /* [states + 1] the rows of each state; NULL: a matrix, states == rows */
    const double *dense;       /* [rows * states] */
    const int64_t *starts;     /* [rows + 1] */
    const int32_t *columns;    /* [starts[rows]] rising within a row */
    const double *values;      /* [starts[rows]] */
} nadir_device_rows;

/* What is known of lines L beside a matrix; see model/perturbed.h. */
typedef struct nadir_device_tail_facts {
    bool there;
    int64_t count;   /* of all states */
    int64_t written; /* entries that it takes to write them out, at most */
    double terms;    /* at least the sum of the sizes of all terms of a product with a row of M + L */
} nadir_device_tail_facts;

/* What is known of a matrix M on the device. */
typedef struct nadir_device_facts {
    double norm;     /* max_s sum_t |M(s, t)|; with lines: at least that of M + L */
    int64_t entries; /* stored */
    int64_t longest; /* most entries of a row */
    int64_t bytes;   /* of the device's memory */
    nadir_device_tail_facts tail;
} nadir_device_facts;

/* Lines, to be brought to the caller's memory; as in model/perturbed.h. */
typedef struct nadir_device_tail {
    double *x;            /* [states] along the order */
    int32_t *order;       /* [states] */
    int64_t *starts;      /* [states + 1] */
    int32_t *columns;     /* [count] */
    double *last, *slope; /* [count] */
} nadir_device_tail;

/* Sums over M, [states] each; see proof/breakdown_products.c. */
typedef struct nadir_device_matrix_sums {
    double *sums;    /* of rows */
    double *squares; /* of the entries of rows, summed */
    double *columns; /* sums of columns */
    double *minima;  /* of columns, entries that are not stored included */
} nadir_device_matrix_sums;

/* What one pass over A = I - gamma M tells; see solve/direct_solver.h. */
typedef struct nadir_device_dominance {
    double norm, slack;
    int64_t broken;   /* the first state with a number that is not finite; INT64_MAX: none */
    int64_t singular; /* the first state without a pivot; -1: none */
} nadir_device_dominance;

/* A system with A = I - gamma M to be solved by iteration. */
typedef struct nadir_device_system {
    double gamma;
    double rate;     /* gamma |M|: below one the contraction x <- b + gamma M x is there to fall back on */
    double rounding; /* a residual is known up to this times (|b| + 2 |x|) */
    double residual; /* wanted, in the maximum norm; in the 1-norm if transposed. 0: `relative` says */
    double relative; /* wanted of |x|, or as much as the next line allows */
    double least;    /* times (|b| + 2 |x|): a smaller residual is rounding */
    int64_t limit;   /* products after which it stops, about; 0: none */
    bool transposed;
    bool fresh; /* there is no guess: x is not read */
} nadir_device_system;

/* How it went. */
typedef struct nadir_device_solve_result {
    double b_norm, x_norm, residual; /* x_norm only where `relative` was said */
    int64_t products;                /* with M */
} nadir_device_solve_result;

/* Numbers of a kernel in the places of the model's, in the caller's memory; as nadir_perturbed in
 * model/kernel.h.
 */
typedef struct nadir_device_perturbed {
    double *values; /* [entries] */
    bool *nominal;  /* [rows] rows that have the model's numbers whatever is in `values` */
    /* NULL unless spread: */
    double *x;               /* [states] */
    int32_t *order;          /* [states] */
    double *omega, *slope;   /* [rows] */
    int32_t *length, *extra; /* [rows] */
    double *amount;          /* [rows] */
} nadir_device_perturbed;

/* Who shares the budget of a linear step: all rows; the rows of a state; or each row has its own. */
typedef enum nadir_device_budget {
    NADIR_DEVICE_ALL_ROWS,
    NADIR_DEVICE_STATES,
    NADIR_DEVICE_ROWS
} nadir_device_budget;

/* What linear steps have in common (sets/lmo.h). */
typedef struct nadir_device_ball {
    double gamma, p;
    bool simplex; /* every successor is allowed; otherwise those of the row */
    nadir_device_budget shares;
    const double *probabilities; /* [rows] pi(a|s) */
    const double *scales;        /* [rows] alpha, NULL: ones */
} nadir_device_ball;

/* The answer of a linear step (sets/lmo.h), in units of x and of `unit`. found false: the ball
 * does not matter, or nothing moves; the rest says nothing then. Nor does it where not all rows share; found
 * is false there only if nothing moves. */
typedef struct nadir_device_lmo_result {
    bool found;
    double unit; /* the largest alpha w */
    double step; /* of a row of alpha w = unit */
    double tau;  /* multiplier of sum (|Delta| / alpha)^p; p = infinity: of the largest |Delta| / alpha */
    double gain; /* sum over rows of w (Phat - X) . x */
    double norm; /* (sum of (|Delta| / alpha)^p)^(1/p) */
} nadir_device_lmo_result;

/* Entries of a vector as linalg/gstd.c sees them: d = (scale x - base) - shift, r = |d| / divisor of
 * its side, above (0) or below (1); and an exponent. */
enum { NADIR_DEVICE_POWER_SUMS = 8 };
typedef struct nadir_device_power_terms {
    double scale, base, shift;
    double divisor[2];
    double a;
} nadir_device_power_terms;

/* The most vectors that are taken together. */
enum { NADIR_DEVICE_MOST_VECTORS = 64 };

/* What the returns of policies of a model are made of. */
typedef struct nadir_device_returns {
    double gamma;
    const double *rewards; /* [rows] */
    const double *initial; /* [states] mu */
} nadir_device_returns;

/* One of them: v is about (I - gamma P^pi)^-1 R^pi, r = sum over a of pi(a|s) (R + gamma P . v) - v with the
 * rows themselves, each number rounded as a sum in any order is. A NaN: the system is singular, or a number
 * is not finite. */
typedef struct nadir_device_return {
    double mean;            /* mu . v */
    double lowest, highest; /* of r */
    double largest;         /* max |v| */
} nadir_device_return;

/* Every call can fail for want of the device's memory: NADIR_ERROR_MEMORY, with the sizes. */
typedef struct nadir_device {
    /* Bytes of the device's memory: what the engine has taken, as it counts, and what is left. */
    void (*memory)(const void *self, double *taken, double *left);

    /* The rows of a model; `kept` is to be dropped, if need be after the engine was closed. */
    nadir_status (*rows_upload)(void *self, nadir_context *context, const nadir_device_rows *rows,
                                void **kept);
    void (*rows_free)(void *kept);
    /* y(row) = sum over t of P(t|row) x(t); y: [rows] */
    nadir_status (*rows_multiply)(void *kept, nadir_context *context, const double *x, double *y);

    /* The smallest of P(t|row) - b(row) k(t), of a dense model; b: [rows], k: [states]. */
    nadir_status (*rows_minimum)(void *kept, nadir_context *context, const double *b, const double *k,
                                 double *minimum);

    /* M(s, t) = sum over a of pi(a|s) P(t|s, a), added in the order of the rows; probabilities: [rows]. */
    nadir_status (*average)(void *kept, nadir_context *context, const double *probabilities, void **matrix,
                            nadir_device_facts *facts);
    /* The same of a kernel that has other numbers in the places of the model's, made by
     * `perturbed_upload` or `lmo_kernel`. Where it has a tail it is M + L: all products below are with both, M has
     * the extra states as entries, and `matrix_sums` and `lu_factor` do not take it. */
    nadir_status (*average_perturbed)(void *kept, nadir_context *context, const void *values,
                                      const double *probabilities, void **matrix, nadir_device_facts *facts);
    /* The numbers are to be forgotten, if need be after the engine was closed. */
    nadir_status (*perturbed_upload)(void *kept, nadir_context *context, const nadir_device_perturbed *from,
                                     void **numbers);
    void (*perturbed_free)(void *numbers);
    /* Numbers that `lmo_kernel` has made; `to` has the arrays of a perturbed kernel with a tail if the
     * numbers do. */
    nadir_status (*perturbed_download)(const void *numbers, nadir_context *context,
                                       const nadir_device_perturbed *to);
    /* A matrix of the caller's. */
    nadir_status (*matrix_upload)(void *self, nadir_context *context, const nadir_device_rows *rows,
                                  void **matrix, nadir_device_facts *facts);
    void (*matrix_free)(void *matrix);
    /* The numbers of M: dense [states * states], or starts [states + 1], columns and values [entries]. */
    nadir_status (*matrix_download)(void *matrix, nadir_context *context, double *dense, int64_t *starts,
                                    int32_t *columns, double *values);
    /* L of a matrix that has it; and the roundings of a product with it, in units, beyond those of M (see
     * nadir_offsupport_tail_roundings): 0 without. */
    nadir_status (*tail_download)(const void *matrix, nadir_context *context, const nadir_device_tail *to);
    double (*tail_roundings)(const void *matrix, bool transposed);
    /* Y = shift X + scale M X, or transposed, for `count` vectors, which may lie on the device. */
    nadir_status (*matrix_combine)(void *matrix, nadir_context *context, bool transposed, int64_t count,
                                   double shift, double scale, const double *x, double *y);
    /* The most entries of a row of M^T; false: not known before the first transposed product. */
    bool (*matrix_longest_column)(const void *matrix, int64_t *longest);
    nadir_status (*matrix_sums)(void *matrix, nadir_context *context, const nadir_device_matrix_sums *look);

    /* The factors of I - gamma M. *factors is NULL where a number is not finite or a pivot is missing. */
    nadir_status (*lu_factor)(void *matrix, nadir_context *context, double gamma, void **factors,
                              nadir_device_dominance *dominance, int64_t *bytes);
    /* b and x may lie on the device. */
    nadir_status (*lu_solve)(void *factors, nadir_context *context, bool transposed, int64_t count,
                             const double *b, double *x);
    void (*lu_free)(void *factors);

    /* Linear steps with the rows of a model: w(row) = gamma max(d(s), 0) pi(row). The arrays of the ball are
     * copied. *step is NULL where the device does not make steps of this kind. */
    nadir_status (*lmo_create)(void *kept, nadir_context *context, const nadir_device_ball *ball,
                               void **step);
    void (*lmo_free)(void *step);
    /* x: [states] in [0, 1]; d: [states], NULL: w is one where pi is positive, and pi itself where the rows
     * of a state share. Both stay for the calls below, as does the answer; of its rows and gains nothing is
     * asked unless it was found. */
    nadir_status (*lmo_solve)(void *step, nadir_context *context, double beta, const double *x,
                              const double *d, nadir_device_lmo_result *answer);
    /* p = infinity, or where not all rows share: sum over a of pi(a|s) (Phat - X) . x; gains: [states]. */
    nadir_status (*lmo_gains)(void *step, nadir_context *context, double *gains);
    /* The rows of the answer. */
    nadir_status (*lmo_kernel)(void *step, nadir_context *context, void **numbers);
    /* p = 2: sum over rows of P . g - min g, g = w range x + 2 tau (P - Phat) / alpha^2; P: numbers. */
    nadir_status (*lmo_slack)(void *step, nadir_context *context, const void *numbers, double range,
                              double tau, double *slack);
    /* sums(t) <- sum over rows with t of (gamma y(s) alpha pi)^2 (z(t) - mean of z over the row's
     * successors); y, z, sums: [states], may lie on the device. */
    nadir_status (*lmo_centred_product)(void *step, nadir_context *context, const double *y, const double *z,
                                        double *sums);

    /* Goes on from x, [states], until the residual is small enough or nothing is won any more. x is not b;
     * both may lie on the device. */
    nadir_status (*bicgstab_solve)(void *matrix, nadir_context *context, const nadir_device_system *system,
                                   const double *b, double *x, nadir_device_solve_result *outcome);

    /* The same for `count` vectors, which share their products: those of several vectors together are counted
     * once, for the first of them. outcomes: [count], always with x_norm. Vectors whose residual is not small
     * enough yet are for `bicgstab_solve` to finish. */
    nadir_status (*bicgstab_solve_many)(void *matrix, nadir_context *context,
                                        const nadir_device_system *system, int64_t count, const double *b,
                                        double *x, nadir_device_solve_result *outcomes);

    /* A long vector, [count] finite numbers, for the calls below. */
    nadir_status (*gstd_upload)(void *self, nadir_context *context, int64_t count, const double *x,
                                void **vector);
    void (*gstd_free)(void *vector);
    /* values[i] <- the number at place ranks[i] in rising order. */
    nadir_status (*gstd_ranks)(void *vector, nadir_context *context, int64_t count, const int64_t *ranks,
                               double *values);
    /* sums: [NADIR_DEVICE_POWER_SUMS] of entries above the centre, then below: how many, r^a (r^a - 1 for a below
     * 2^-6), r^(a-1), r^(a+1). powers: [count] <- sign(d) r^a, or NULL. */
    nadir_status (*gstd_powers)(void *vector, nadir_context *context, const nadir_device_power_terms *at,
                                double *sums, double *powers);

    /* Room on the device for vectors, one after another, `numbers` zeros in all, if it is there to spare. To
     * the caller their addresses are of use in calls alone. */
    nadir_status (*vec_alloc)(void *self, nadir_context *context, int64_t numbers, double **vectors);
    void (*vec_free)(void *self, int64_t numbers, double *vectors);
    /* Vectors x, y, w: [count] of it. `many`: at most NADIR_DEVICE_MOST_VECTORS vectors, one after another; their
     * numbers `dots`, `factors` and `matrix` are the caller's, as is one of both that are copied. */
    nadir_status (*vec_copy)(void *self, nadir_context *context, int64_t count, const double *from,
                             double *to);
    /* dots[j] <- vectors[j] . x */
    nadir_status (*vec_dots)(void *self, nadir_context *context, int64_t count, int many,
                             const double *vectors, const double *x, double *dots);
    /* y <- y + the sum of factors[j] vectors[j] */
    nadir_status (*vec_add)(void *self, nadir_context *context, int64_t count, int many,
                            const double *vectors, const double *factors, double *y);
    /* y <- a x, and y <- w x entry by entry; y may be x. */
    nadir_status (*vec_scale)(void *self, nadir_context *context, int64_t count, double a, const double *x,
                              double *y);
    nadir_status (*vec_weigh)(void *self, nadir_context *context, int64_t count, const double *w,
                              const double *x, double *y);
    /* The first `kept` of `many` vectors <- the sums over i of matrix[j * many + i] vectors[i], j < kept. */
    nadir_status (*vec_rotate)(void *self, nadir_context *context, int64_t count, int many, int kept,
                               const double *matrix, double *vectors);

    /* Policies of a model of a few hundred states, batches of them as large as memory allows; probabilities:
     * [count * rows], found: [count]. */
    nadir_status (*policy_returns)(void *kept, nadir_context *context, const nadir_device_returns *returns,
                                   int64_t count, const double *probabilities, nadir_device_return *found);
} nadir_device;

#endif
