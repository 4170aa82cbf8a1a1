/*
 * backend.h: the contract of a linear-system backend.
 *
 * A backend solves
 *
 *     A X = B     or     A^T X = B,       A = I - gamma M,
 *
 * for several right-hand sides at once, M being the explicit part of an average (average.h), with the tails
 * of the average if it has any and the backend is not a direct one, which never sees any, nor one of a device
 * where these are not there. It is one `static
 * const` table in one file of this folder, listed in backends.c. Corrections of rank one, refinement, error
 * bounds and the choice of a backend are occupancy.c's business.
 *
 * Errors are measured where they matter: for A x = b with M >= 0 and rows summing to 1, the error of x is at
 * most |b - A x|_inf / (1 - gamma) in the maximum norm, and for A^T x = b at most |b - A^T x|_1 / (1 - gamma)
 * in the 1-norm. A relative residual says nothing of the kind and is never used to stop.
 */
#ifndef NADIR_SOLVE_BACKEND_H
#define NADIR_SOLVE_BACKEND_H

#include "model/average.h"

enum {
    NADIR_BACKEND_DENSE = 1 << 0,       /* takes a dense M */
    NADIR_BACKEND_SPARSE = 1 << 1,      /* takes a CSR M */
    NADIR_BACKEND_DIRECT = 1 << 2,      /* factors: solves are cheap and their accuracy cannot be asked for */
    NADIR_BACKEND_DISTRIBUTED = 1 << 3, /* takes an M whose rows are distributed over processes */
    NADIR_BACKEND_DEVICE = 1 << 4,      /* needs an engine with a device; sees tails that are there alone */
    /* iterates, but factors a dense M where that is faster: then solves through it are cheap, too */
    NADIR_BACKEND_FACTORS_DENSE = 1 << 5
};

/* With a device: sparse matrices beyond this size are iterated there without a thought of factors. */
#define NADIR_DEVICE_ORDERED_STATES 20000

#define NADIR_REFINED_ROUNDING (4 * 2.220446049250313e-16)

/* What a backend did so far; counts only grow. */
typedef struct nadir_backend_statistics {
    double factor_seconds; /* set-up and refactorings */
    int64_t factorings;
    int64_t solves;     /* right-hand sides */
    int64_t iterations; /* of iterative backends: products with M or its transpose */
    int64_t bytes;      /* memory held */
} nadir_backend_statistics;

typedef struct nadir_backend {
    const char *name;
    unsigned capabilities; /* NADIR_BACKEND_... */

    /* `average` outlives *self and is not copied; gamma in [0, 1). NADIR_ERROR_ILL_POSED when A is singular
     * to working precision. */
    nadir_status (*setup)(nadir_context *context, nadir_average *average, double gamma, void **self);

    /* The values of the average changed, its pattern did not (NULL: setup anew instead). */
    nadir_status (*refactor)(nadir_context *context, void *self);

    /*
     * x: [states * count], in: a guess for iterative backends (zeros will do), ignored by direct ones; out:
     * solutions. b: [states * count], not changed; x and b do not overlap. residual: an iterative backend
     * goes on until the residual of every column is at most this, in the maximum norm (1-norm if transposed),
     * and NADIR_ERROR_NOT_CONVERGED says that it could not; a direct one ignores it.
     */
    nadir_status (*solve)(nadir_context *context, void *self, bool transposed, int64_t count, const double *b,
                          double residual, double *x);

    /* NULL: none. x: [states * count], in: guesses, out: each with a residual of at most `relative` |x| or
     * what rounding allows, NADIR_REFINED_ROUNDING (|b| + 2 |x|); x and b do not overlap. norms: [3 * count],
     * of each b, x and residual, which may be larger if nothing is won any more. */
    nadir_status (*refine)(nadir_context *context, void *self, bool transposed, int64_t count,
                           const double *b, double relative, double *x, double *norms);

    /* NULL: none. The same for one right-hand side without a guess where b and x lie on the device of the
     * context (core/device.h); x is not read. norms: [3] in memory. */
    nadir_status (*refine_device)(nadir_context *context, void *self, bool transposed, const double *b,
                                  double relative, double *x, double *norms);

    void (*statistics)(const void *self, nadir_backend_statistics *statistics);
    void (*destroy)(nadir_context *context, void *self);
} nadir_backend;

extern const nadir_backend nadir_backend_lapack;
extern const nadir_backend nadir_backend_klu;
extern const nadir_backend nadir_backend_krylov;
extern const nadir_backend nadir_backend_petsc;     /* needs the engine of that name */
extern const nadir_backend nadir_backend_device_lu; /* these need an engine with a device */
extern const nadir_backend nadir_backend_device_krylov;

/* By name; NULL when there is none. */
const nadir_backend *nadir_backend_find(const char *name);
/* The same for a name that a caller gave. *backend is NULL for NULL and for "auto": no backend is asked for.
 * NADIR_ERROR_ARGUMENT, with the names there are, when there is none of that name. */
nadir_status nadir_backend_named(nadir_context *context, const char *name, const nadir_backend **backend);

static inline bool nadir_backend_has(const nadir_backend *backend, unsigned capability)
{
    return (backend->capabilities & capability) != 0;
}

/* The one that should be fastest for this average: by size, density and predicted fill. */
nadir_status nadir_backend_choose(nadir_context *context, nadir_average *average,
                                  const nadir_backend **backend);

#endif
