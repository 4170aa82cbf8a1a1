/*
 * dual_bound.c: upper bounds on the worst return of every policy; see dual_bound.h.
 *
 * Where several kernels are equally bad for the best policy, none of them alone has an optimum as low as its
 * return: against each there is a better policy, and only a mixture is bad for all. Along the way from one
 * kernel to another V* is a continuous function of one number; it is followed down by a golden section, which
 * asks for nothing more.
 */
#include "policy/minmax.h"

#include "proof/membership.h"
#include "search/kernel_solver.h"
#include "solve/nominal_optimum.h"

#include <math.h>
#include <string.h>

/* Points of a golden section: the way is known to 0.618^POINTS of its length. */
enum { POINTS = 24 };
#define GOLDEN 0.6180339887498949

/* Rounds over all kernels that are kept. */
enum { ROUNDS = 12 };

void nadir_dual_bound_clear(nadir_context *context, nadir_dual_bound *dual_bound)
{
    for (int i = 0; i < NADIR_DUAL_BOUND_KERNELS; i++) {
        nadir_kernel_free(dual_bound->kept[i]);
    }
    nadir_kernel_free(dual_bound->kernel);
    nadir_release(context, dual_bound->value);
    *dual_bound = (nadir_dual_bound){0};
}

nadir_status nadir_dual_bound_of_kernel(nadir_context *context, const nadir_dual_bound *dual_bound,
                                        const nadir_kernel *kernel, const double *q, double *value,
                                        double *upper)
{
    nadir_policy *policy = NULL;
    nadir_optimum_settings settings;
    nadir_optimum_result result = {.size = sizeof result};
    nadir_optimum_settings_default(&settings);
    settings.backend = dual_bound->backend;
    settings.tolerance = dual_bound->tolerance;
    nadir_status status = nadir_optimum_warm_started(context, kernel, dual_bound->model->discount, &settings,
                                                     dual_bound->base, value, q, value, &policy, &result);
    if (policy != NULL && status == NADIR_ERROR_NOT_CONVERGED) { /* its bounds hold all the same */
        status = NADIR_OK;
    }
    *upper = policy != NULL ? result.upper_bound : INFINITY;
    nadir_policy_free(policy);
    return status == NADIR_ERROR_ARGUMENT ? NADIR_OK
                                          : status; /* a negative entry; nothing else is asked for */
}

static void keep(nadir_dual_bound *dual_bound, nadir_kernel *kernel)
{
    nadir_kernel **place = &dual_bound->kept[dual_bound->tried++ % NADIR_DUAL_BOUND_KERNELS];
    nadir_kernel_free(*place);
    *place = kernel;
}

/* kernel and value are taken over; the kernel before becomes one of those that were tried. */
static void lower(nadir_context *context, nadir_dual_bound *dual_bound, nadir_kernel *kernel, double *value,
                  double upper)
{
    if (dual_bound->kernel != NULL) {
        keep(dual_bound, dual_bound->kernel);
    }
    dual_bound->kernel = kernel;
    nadir_release(context, dual_bound->value);
    dual_bound->value = value;
    dual_bound->upper = upper;
}

nadir_status nadir_dual_bound_add_kernel(nadir_context *context, nadir_dual_bound *dual_bound,
                                         nadir_kernel **kernel, const double *v, const double *q)
{
    nadir_status status = NADIR_OK;
    const int64_t states = dual_bound->model->states;
    double *value = NULL;
    double upper;
    NADIR_NEW(context, value, states);
    memcpy(value, v, (size_t)states * sizeof *v);
    NADIR_CHECK(nadir_dual_bound_of_kernel(context, dual_bound, *kernel, q, value, &upper));
    if (upper < dual_bound->upper) {
        lower(context, dual_bound, *kernel, value, upper);
        dual_bound->mixed = 1;
        value = NULL;
    } else if (isfinite(upper)) {
        keep(dual_bound, *kernel);
    } else {
        nadir_kernel_free(*kernel);
    }
    *kernel = NULL;
cleanup:
    nadir_release(context, value);
    return status;
}

/* A point of the way from the ceiling's kernel to another. */
typedef struct point {
    double t;
    double upper;
    nadir_kernel *kernel;
} point;

static nadir_status look(nadir_context *context, const nadir_dual_bound *dual_bound, const nadir_kernel *to,
                         double t, double *value, point *self)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_free(self->kernel);
    self->kernel = NULL;
    self->t = t;
    NADIR_CHECK(nadir_kernel_mix(context, dual_bound->model, dual_bound->kernel, to, t, &self->kernel));
    NADIR_CHECK(nadir_dual_bound_of_kernel(context, dual_bound, self->kernel, NULL, value, &self->upper));
cleanup:
    return status;
}

/* The lowest point of the way to another kernel. *fallen: by how much the ceiling came down. */
static nadir_status mix_with(nadir_context *context, nadir_dual_bound *dual_bound, const nadir_kernel *to,
                             double *fallen)
{
    nadir_status status = NADIR_OK;
    double low = 0;
    double high = 1;
    point a = {0};
    point b = {0};
    double *value = NULL;
    *fallen = 0;
    NADIR_NEW(context, value, dual_bound->model->states);
    memcpy(value, dual_bound->value, (size_t)dual_bound->model->states * sizeof *value);
    NADIR_CHECK(look(context, dual_bound, to, 1 - GOLDEN, value, &a));
    NADIR_CHECK(look(context, dual_bound, to, GOLDEN, value, &b));
    for (int i = 2; i < POINTS; i++) {
        NADIR_CHECK(nadir_progress(context, "mixing kernels", -1));
        const point spare = a.upper <= b.upper ? b : a;
        if (a.upper <= b.upper) {
            high = b.t;
            b = a;
            a = spare;
            NADIR_CHECK(look(context, dual_bound, to, high - GOLDEN * (high - low), value, &a));
        } else {
            low = a.t;
            a = b;
            b = spare;
            NADIR_CHECK(look(context, dual_bound, to, low + GOLDEN * (high - low), value, &b));
        }
    }
    point *best = a.upper <= b.upper ? &a : &b;
    if (best->upper < dual_bound->upper) {
        NADIR_CHECK(nadir_dual_bound_of_kernel(context, dual_bound, best->kernel, NULL, value, &best->upper));
        *fallen = dual_bound->upper - best->upper;
        nadir_kernel_free(dual_bound->kernel);
        dual_bound->kernel = NULL;
        lower(context, dual_bound, best->kernel, value, best->upper);
        dual_bound->mixed++;
        best->kernel = NULL;
        value = NULL;
    }
cleanup:
    nadir_kernel_free(a.kernel);
    nadir_kernel_free(b.kernel);
    nadir_release(context, value);
    return status;
}

nadir_status nadir_dual_bound_mix_kernels(nadir_context *context, nadir_dual_bound *dual_bound, double worth)
{
    nadir_status status = NADIR_OK;
    double fallen = INFINITY;
    for (int round = 0; round < ROUNDS && dual_bound->kernel != NULL && fallen > worth; round++) {
        fallen = 0;
        for (int i = 0; i < NADIR_DUAL_BOUND_KERNELS; i++) {
            double step = 0;
            if (dual_bound->kept[i] != NULL) {
                NADIR_CHECK(mix_with(context, dual_bound, dual_bound->kept[i], &step));
            }
            fallen += step;
        }
    }
cleanup:
    return status;
}

nadir_status nadir_dual_bound_check_kernel(nadir_context *context, nadir_dual_bound *dual_bound,
                                           const nadir_uncertainty *uncertainty)
{
    nadir_membership membership;
    if (dual_bound->kernel == NULL) {
        return NADIR_OK;
    }
    const nadir_status status =
        nadir_membership_check(context, dual_bound->kernel, uncertainty, 1, &membership);
    if (status == NADIR_ERROR_VERIFICATION || (status == NADIR_OK && membership.minimum < 0)) {
        dual_bound->upper = INFINITY;
        return NADIR_OK;
    }
    return status;
}
