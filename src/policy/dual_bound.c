/*
 * dual_bound.c: upper bounds on the worst return of every policy; see minmax.h.
 *
 * Where several kernels are equally bad for the best policy, the optimum of each alone is higher than the
 * saddle value: against each there is a better policy, and only a mixture is bad for all. Along the segment
 * between two kernels V* is a continuous function of one number, which a golden-section search minimises.
 */
#include "policy/minmax.h"

#include "proof/membership.h"
#include "search/kernel_solver.h"
#include "solve/nominal_optimum.h"

#include <math.h>
#include <string.h>

/* Points of a golden-section search: the minimiser is known to 0.618^POINTS of the segment. */
enum { POINTS = 24 };
#define GOLDEN 0.6180339887498949

/* Rounds over the kept kernels. */
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
    if (policy != NULL && status == NADIR_ERROR_NOT_CONVERGED) { /* the bounds hold nevertheless */
        status = NADIR_OK;
    }
    *upper = policy != NULL ? result.upper_bound : INFINITY;
    nadir_policy_free(policy);
    const bool endless = status == NADIR_ERROR_ILL_POSED && dual_bound->model->discount == 1;
    return status == NADIR_ERROR_ARGUMENT || endless ? NADIR_OK : status; /* ARGUMENT: a negative entry */
}

static void keep(nadir_dual_bound *dual_bound, nadir_kernel *kernel)
{
    nadir_kernel **slot = &dual_bound->kept[dual_bound->tried++ % NADIR_DUAL_BOUND_KERNELS];
    nadir_kernel_free(*slot);
    *slot = kernel;
}

/* Takes kernel and value; the previous kernel becomes a kept one. */
static void replace(nadir_context *context, nadir_dual_bound *dual_bound, nadir_kernel *kernel, double *value,
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
        replace(context, dual_bound, *kernel, value, upper);
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

/* A point on the segment from the kernel of the bound to another. */
typedef struct point {
    double t;
    double upper;
    nadir_kernel *kernel;
} point;

static nadir_status evaluate_point(nadir_context *context, const nadir_dual_bound *dual_bound,
                                   const nadir_kernel *to, double t, double *value, point *self)
{
    nadir_kernel_free(self->kernel);
    self->kernel = NULL;
    self->t = t;
    NADIR_TRY(nadir_kernel_mix(context, dual_bound->model, dual_bound->kernel, to, t, &self->kernel));
    return nadir_dual_bound_of_kernel(context, dual_bound, self->kernel, NULL, value, &self->upper);
}

/* Minimises over the segment to another kernel. *decrease: of the bound. */
static nadir_status mix_with(nadir_context *context, nadir_dual_bound *dual_bound, const nadir_kernel *to,
                             double *decrease)
{
    nadir_status status = NADIR_OK;
    double low = 0;
    double high = 1;
    point a = {0};
    point b = {0};
    double *value = NULL;
    *decrease = 0;
    NADIR_NEW(context, value, dual_bound->model->states);
    memcpy(value, dual_bound->value, (size_t)dual_bound->model->states * sizeof *value);
    NADIR_CHECK(evaluate_point(context, dual_bound, to, 1 - GOLDEN, value, &a));
    NADIR_CHECK(evaluate_point(context, dual_bound, to, GOLDEN, value, &b));
    for (int i = 2; i < POINTS; i++) {
        NADIR_CHECK(nadir_progress(context, "mixing kernels", -1));
        const point spare = a.upper <= b.upper ? b : a;
        if (a.upper <= b.upper) {
            high = b.t;
            b = a;
            a = spare;
            NADIR_CHECK(evaluate_point(context, dual_bound, to, high - GOLDEN * (high - low), value, &a));
        } else {
            low = a.t;
            a = b;
            b = spare;
            NADIR_CHECK(evaluate_point(context, dual_bound, to, low + GOLDEN * (high - low), value, &b));
        }
    }
    point *best = a.upper <= b.upper ? &a : &b;
    if (best->upper < dual_bound->upper) {
        NADIR_CHECK(nadir_dual_bound_of_kernel(context, dual_bound, best->kernel, NULL, value, &best->upper));
        *decrease = dual_bound->upper - best->upper;
        nadir_kernel_free(dual_bound->kernel);
        dual_bound->kernel = NULL;
        replace(context, dual_bound, best->kernel, value, best->upper);
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
    double decrease = INFINITY;
    for (int round = 0; round < ROUNDS && dual_bound->kernel != NULL && decrease > worth; round++) {
        decrease = 0;
        for (int i = 0; i < NADIR_DUAL_BOUND_KERNELS; i++) {
            double step = 0;
            if (dual_bound->kept[i] != NULL) {
                NADIR_TRY(mix_with(context, dual_bound, dual_bound->kept[i], &step));
            }
            decrease += step;
        }
    }
    return NADIR_OK;
}

nadir_status nadir_dual_bound_check_kernel(nadir_context *context, nadir_dual_bound *dual_bound,
                                           const nadir_uncertainty *uncertainty)
{
    nadir_membership membership;
    if (dual_bound->kernel == NULL) {
        return NADIR_OK;
    }
    nadir_status status = nadir_membership_measure(context, dual_bound->kernel, uncertainty, 1, &membership);
    if (status == NADIR_OK) {
        status =
            nadir_membership_check(context, nadir_kernel_model(dual_bound->kernel), uncertainty, &membership);
    }
    if (status == NADIR_ERROR_VERIFICATION || (status == NADIR_OK && membership.minimum < 0)) {
        dual_bound->upper = INFINITY;
        return NADIR_OK;
    }
    return status;
}
