/*
 * occupancy.h: the occupancy operator D = (I - gamma P^pi)^-1 of any kernel, applied and applied transposed.
 *
 * Every algorithm of nadir is made of products D x and D^T x. Whoever asks for them sees neither a matrix nor
 * a backend.
 */
#ifndef NADIR_SOLVE_OCCUPANCY_H
#define NADIR_SOLVE_OCCUPANCY_H

#include "linalg/vec.h"
#include "model/average.h"
#include "solve/backend.h"

typedef struct nadir_occupancy nadir_occupancy;

/* How well a product is known. */
typedef struct nadir_accuracy {
    double residual;    /* largest over the right-hand sides; maximum norm, 1-norm if transposed; rounding
                           included */
    double error_bound; /* residual / nadir_occupancy_gap: the product is known to this; infinity: no such
                           bound */
} nadir_accuracy;

/* backend: a name, or NULL for the one that suits best. tolerance: error bound wanted of iterative backends,
 * relative to the largest entry of each product (0: 1e-12). The kernel and policy need not outlive the call.
 *
 * The tails of a perturbed kernel (kernel.h) are not stored, so they cannot be factored: a direct backend
 * that was named gets them written out, up to states * states entries; a choice of our own writes them out
 * only where that makes the matrix a few times longer at most, and is krylov otherwise. */
nadir_status nadir_occupancy_create(nadir_context *context, const nadir_kernel *kernel,
                                    const nadir_policy *policy, double gamma, const char *backend,
                                    double tolerance, nadir_occupancy **occupancy);

/* The operator of another kernel beside that of `like`: by iterations where those of `like` are, on the
 * device or, where it has no memory for one more, by krylov; by the backend that suits best where `like` is
 * direct. */
nadir_status nadir_occupancy_create_like(nadir_context *context, const nadir_occupancy *like,
                                         const nadir_kernel *kernel, const nadir_policy *policy,
                                         double tolerance, nadir_occupancy **occupancy);

/* Another policy, or another kernel of the same model: refactors where the pattern is the same. After a
 * failure there are no products until an update succeeds. */
nadir_status nadir_occupancy_update(nadir_context *context, nadir_occupancy *occupancy,
                                    const nadir_kernel *kernel, const nadir_policy *policy);

/*
 * The operator of another kernel of the same model under the same policy, through the solves of `base`: by
 * Sherman-Morrison when it differs from base's kernel by a rank-one term only, otherwise by Krylov iteration
 * preconditioned with base: I - gamma P^pi = (I - gamma Phat^pi)(I - gamma D (P^pi - Phat^pi)) is near the
 * identity there. Where it is not, and the iteration does not converge, the operator gets a backend of its
 * own. `base` must outlive it; after an update of `base` it has no products any more (NADIR_ERROR_ARGUMENT).
 */
nadir_status nadir_occupancy_perturb(nadir_context *context, nadir_occupancy *base,
                                     const nadir_kernel *kernel, const nadir_policy *policy,
                                     nadir_occupancy **occupancy);

/* Turns an operator that nadir_occupancy_perturb has made into that of another kernel, which is cheaper than
 * making one. *done: false where it cannot; the operator is as good as before then. On failure it has no
 * products. */
nadir_status nadir_occupancy_perturb_again(nadir_context *context, nadir_occupancy *occupancy,
                                           const nadir_kernel *kernel, const nadir_policy *policy,
                                           bool *done);

void nadir_occupancy_free(nadir_context *context, nadir_occupancy *occupancy);

/* X <- D B or D^T B for `count` right-hand sides of [states], to `tolerance` or that of the operator if
 * larger (iterative backends; occupancy_solve.c). guessed: x comes with a guess and is not b: the better it is, the
 * less is left to do. Otherwise x is not read, and may be b. accuracy may be NULL. NADIR_ERROR_ILL_POSED:
 * singular; NADIR_ERROR_NOT_CONVERGED: the accuracy was not reached, or a number is not finite. */
nadir_status nadir_refinement_solve(nadir_context *context, nadir_occupancy *occupancy, bool transposed,
                                    int64_t count, const double *b, double tolerance, bool guessed, double *x,
                                    nadir_accuracy *accuracy);

static inline nadir_status nadir_occupancy_solve(nadir_context *context, nadir_occupancy *occupancy,
                                                 int64_t count, const double *b, double *x,
                                                 nadir_accuracy *accuracy)
{
    return nadir_refinement_solve(context, occupancy, false, count, b, 0, false, x, accuracy);
}
static inline nadir_status nadir_occupancy_solve_transposed(nadir_context *context,
                                                            nadir_occupancy *occupancy, int64_t count,
                                                            const double *b, double *x,
                                                            nadir_accuracy *accuracy)
{
    return nadir_refinement_solve(context, occupancy, true, count, b, 0, false, x, accuracy);
}
static inline nadir_status nadir_occupancy_improve(nadir_context *context, nadir_occupancy *occupancy,
                                                   bool transposed, int64_t count, const double *b,
                                                   double tolerance, double *x, nadir_accuracy *accuracy)
{
    return nadir_refinement_solve(context, occupancy, transposed, count, b, tolerance, true, x, accuracy);
}

/* About D B or D^T B: for the inside of iterations that correct themselves. One solve of a direct backend,
 * without looking at the residual; iterative ones stop at an error of about `tolerance` times the largest
 * entry. x is not b. */
nadir_status nadir_occupancy_solve_roughly(nadir_context *context, nadir_occupancy *occupancy,
                                           bool transposed, int64_t count, const double *b, double tolerance,
                                           double *x);

/* The same of one right-hand side where b and x are in a vector space: memory, or that of the operator, which
 * is the device where solves are made there without any part of them here, and memory otherwise. */
nadir_vec nadir_occupancy_vec(nadir_context *context, const nadir_occupancy *occupancy);
nadir_status nadir_occupancy_solve_vec(const nadir_vec *vec, nadir_occupancy *occupancy, bool transposed,
                                       const double *b, double tolerance, double *x);

/* At most so many steps from x: [states], a guess, towards D b or D^T b, through the solves of the base,
 * until the residual is below `share` of what it was. r: [states] b - A x in the end, *left: |r|_2 as a share
 * of what it was. */
enum { NADIR_OCCUPANCY_PARTIAL_STEPS = 4 };
nadir_status nadir_occupancy_solve_partial(nadir_context *context, nadir_occupancy *occupancy,
                                           bool transposed, const double *b, double share, double *x,
                                           double *r, double *left);

/* Of products from now on; 0: the default. */
void nadir_occupancy_set_tolerance(nadir_occupancy *occupancy, double tolerance);
double nadir_occupancy_tolerance(const nadir_occupancy *occupancy);

/* Whether solves are iterations, to which accuracy and guesses matter. */
bool nadir_occupancy_iterates(const nadir_occupancy *occupancy);
/* Whether the backend that does the work has a capability, NADIR_BACKEND_...; callers ask for these, never
 * for its name. */
bool nadir_occupancy_has(const nadir_occupancy *occupancy, unsigned capability);

/* At most 1 / max D 1, up to rounding: 1 - gamma |P^pi| or, without a discount, once it was looked for. 0 or less: not
 * known. */
double nadir_occupancy_gap(const nadir_occupancy *occupancy);
/* Looks for it, where the discount is 1; P >= 0. actions: the most of a state. One solve, the first time. */
nadir_status nadir_occupancy_find_duration(nadir_context *context, nadir_occupancy *occupancy,
                                           int64_t actions);

double nadir_occupancy_gamma(const nadir_occupancy *occupancy);
nadir_average *nadir_occupancy_average(nadir_occupancy *occupancy);
/* Its name, for messages and results. */
const char *nadir_occupancy_backend(const nadir_occupancy *occupancy);
void nadir_occupancy_statistics(const nadir_occupancy *occupancy, nadir_backend_statistics *statistics);

#endif
