/*
 * dual_bound.h: what no policy can exceed: the optimum V*(P) of any one kernel P >= 0 of the set, the least that
 * is known. The set is convex, so that mixtures of its kernels are in it too.
 */
#ifndef NADIR_POLICY_DUAL_BOUND_H
#define NADIR_POLICY_DUAL_BOUND_H

#include "sets/uncertainty.h"
#include "solve/occupancy.h"

/* How many kernels are kept for mixtures. */
enum { NADIR_DUAL_BOUND_KERNELS = 6 };

/* A struct of zeros with model, backend and tolerance set, and upper at infinity, knows nothing. */
typedef struct nadir_dual_bound {
    nadir_model *model;
    const char *backend;
    nadir_occupancy *base; /* of a near kernel and policy; NULL: none. Not owned */
    double tolerance;      /* of optima, relative */
    double upper;          /* mu . V*(P), rounding included, if `kernel` is in the set */
    nadir_kernel *kernel;  /* owned: the P of it; NULL: none yet */
    double *value;         /* [states] V*(P) */
    int64_t mixed;         /* kernels that it is a mixture of */
    nadir_kernel *kept[NADIR_DUAL_BOUND_KERNELS]; /* owned: kernels that were tried, in a circle */
    int64_t tried;                                /* since the beginning */
} nadir_dual_bound;

void nadir_dual_bound_clear(nadir_context *context, nadir_dual_bound *dual_bound);

/* Takes a kernel into account, unless it has negative entries, and takes it over: *kernel becomes NULL. v:
 * [states] about what V* of it is; q: [rows] at least what rows have there, see nadir_optimum_warm_started,
 * or NULL.
 */
nadir_status nadir_dual_bound_add_kernel(nadir_context *context, nadir_dual_bound *dual_bound,
                                         nadir_kernel **kernel, const double *v, const double *q);

/* mu . V*(P), or more, of a kernel; infinity where it has negative entries. value: [states] in: about V*,
 * out: V*; q: as above. */
nadir_status nadir_dual_bound_of_kernel(nadir_context *context, const nadir_dual_bound *dual_bound,
                                        const nadir_kernel *kernel, const double *q, double *value,
                                        double *upper);

/* Mixtures of the kernels that were tried, as long as they bring the ceiling down by more than `worth`. */
nadir_status nadir_dual_bound_mix_kernels(nadir_context *context, nadir_dual_bound *dual_bound, double worth);

/* Whether the kernel of the ceiling is in the set, from its rows alone; if not, the ceiling is infinite. */
nadir_status nadir_dual_bound_check_kernel(nadir_context *context, nadir_dual_bound *dual_bound,
                                           const nadir_uncertainty *uncertainty);

#endif
