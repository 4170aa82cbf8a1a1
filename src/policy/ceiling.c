/*
 * ceiling.c: upper bounds on the worst return of every policy; see ceiling.h.
 *
 * Where several kernels are equally bad for the best policy, none of them alone has an optimum as low as its
 * return: against each there is a better policy, and only a mixture is bad for all. Along the way from one
 * kernel to another V* is a continuous function of one number; it is followed down by a golden section, which
 * asks for nothing more.
 */
#include "policy/ceiling.h"

#include "adversary/check/membership.h"
#include "adversary/search/kernel_mix.h"
#include "nominal/nominal_optimum.h"

#include <math.h>
#include <string.h>

/* Points of a golden section: the way is known to 0.618^POINTS of its length. */
enum { POINTS = 24 };
#define GOLDEN 0.6180339887498949

/* Rounds over all kernels that are kept. */
enum { ROUNDS = 12 };

void nadir_ceiling_clear(nadir_context *context, nadir_ceiling *ceiling)
{
    for (int i = 0; i < NADIR_CEILING_KEPT; i++) {
        nadir_kernel_free(ceiling->kept[i]);
    }
    nadir_kernel_free(ceiling->kernel);
    nadir_release(context, ceiling->value);
    *ceiling = (nadir_ceiling){0};
}

nadir_status nadir_ceiling_of(nadir_context *context, const nadir_ceiling *ceiling,
                              const nadir_kernel *kernel, const double *q, double *value, double *upper)
{
    nadir_policy *policy = NULL;
    nadir_optimum_settings settings;
    nadir_optimum_result result = {.size = sizeof result};
    nadir_optimum_settings_default(&settings);
    settings.backend = ceiling->backend;
    settings.tolerance = ceiling->tolerance;
    nadir_status status = nadir_optimum_warm_started(context, kernel, ceiling->model->discount, &settings,
                                                     ceiling->base, value, q, value, &policy, &result);
    if (policy != NULL && status == NADIR_ERROR_NOT_CONVERGED) { /* its bounds hold all the same */
        status = NADIR_OK;
    }
    *upper = policy != NULL ? result.upper_bound : INFINITY;
    nadir_policy_free(policy);
    return status == NADIR_ERROR_ARGUMENT ? NADIR_OK
                                          : status; /* a negative entry; nothing else is asked for */
}

static void keep(nadir_ceiling *ceiling, nadir_kernel *kernel)
{
    nadir_kernel **place = &ceiling->kept[ceiling->tried++ % NADIR_CEILING_KEPT];
    nadir_kernel_free(*place);
    *place = kernel;
}

/* kernel and value are taken over; the kernel before becomes one of those that were tried. */
static void lower(nadir_context *context, nadir_ceiling *ceiling, nadir_kernel *kernel, double *value,
                  double upper)
{
    if (ceiling->kernel != NULL) {
        keep(ceiling, ceiling->kernel);
    }
    ceiling->kernel = kernel;
    nadir_release(context, ceiling->value);
    ceiling->value = value;
    ceiling->upper = upper;
}

nadir_status nadir_ceiling_try(nadir_context *context, nadir_ceiling *ceiling, nadir_kernel **kernel,
                               const double *v, const double *q)
{
    nadir_status status = NADIR_OK;
    const int64_t states = ceiling->model->states;
    double *value = NULL;
    double upper;
    NADIR_NEW(context, value, states);
    memcpy(value, v, (size_t)states * sizeof *v);
    NADIR_CHECK(nadir_ceiling_of(context, ceiling, *kernel, q, value, &upper));
    if (upper < ceiling->upper) {
        lower(context, ceiling, *kernel, value, upper);
        ceiling->mixed = 1;
        value = NULL;
    } else if (isfinite(upper)) {
        keep(ceiling, *kernel);
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

static nadir_status look(nadir_context *context, const nadir_ceiling *ceiling, const nadir_kernel *to,
                         double t, double *value, point *at)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_free(at->kernel);
    at->kernel = NULL;
    at->t = t;
    NADIR_CHECK(nadir_kernel_mix(context, ceiling->model, ceiling->kernel, to, t, &at->kernel));
    NADIR_CHECK(nadir_ceiling_of(context, ceiling, at->kernel, NULL, value, &at->upper));
cleanup:
    return status;
}

/* The lowest point of the way to another kernel. *fallen: by how much the ceiling came down. */
static nadir_status mix_with(nadir_context *context, nadir_ceiling *ceiling, const nadir_kernel *to,
                             double *fallen)
{
    nadir_status status = NADIR_OK;
    double low = 0;
    double high = 1;
    point a = {0};
    point b = {0};
    double *value = NULL;
    *fallen = 0;
    NADIR_NEW(context, value, ceiling->model->states);
    memcpy(value, ceiling->value, (size_t)ceiling->model->states * sizeof *value);
    NADIR_CHECK(look(context, ceiling, to, 1 - GOLDEN, value, &a));
    NADIR_CHECK(look(context, ceiling, to, GOLDEN, value, &b));
    for (int i = 2; i < POINTS; i++) {
        NADIR_CHECK(nadir_progress(context, "mixing kernels", -1));
        const point spare = a.upper <= b.upper ? b : a;
        if (a.upper <= b.upper) {
            high = b.t;
            b = a;
            a = spare;
            NADIR_CHECK(look(context, ceiling, to, high - GOLDEN * (high - low), value, &a));
        } else {
            low = a.t;
            a = b;
            b = spare;
            NADIR_CHECK(look(context, ceiling, to, low + GOLDEN * (high - low), value, &b));
        }
    }
    point *best = a.upper <= b.upper ? &a : &b;
    if (best->upper < ceiling->upper) {
        NADIR_CHECK(nadir_ceiling_of(context, ceiling, best->kernel, NULL, value, &best->upper));
        *fallen = ceiling->upper - best->upper;
        nadir_kernel_free(ceiling->kernel);
        ceiling->kernel = NULL;
        lower(context, ceiling, best->kernel, value, best->upper);
        ceiling->mixed++;
        best->kernel = NULL;
        value = NULL;
    }
cleanup:
    nadir_kernel_free(a.kernel);
    nadir_kernel_free(b.kernel);
    nadir_release(context, value);
    return status;
}

nadir_status nadir_ceiling_mix(nadir_context *context, nadir_ceiling *ceiling, double worth)
{
    nadir_status status = NADIR_OK;
    double fallen = INFINITY;
    for (int round = 0; round < ROUNDS && ceiling->kernel != NULL && fallen > worth; round++) {
        fallen = 0;
        for (int i = 0; i < NADIR_CEILING_KEPT; i++) {
            double step = 0;
            if (ceiling->kept[i] != NULL) {
                NADIR_CHECK(mix_with(context, ceiling, ceiling->kept[i], &step));
            }
            fallen += step;
        }
    }
cleanup:
    return status;
}

nadir_status nadir_ceiling_check(nadir_context *context, nadir_ceiling *ceiling,
                                 const nadir_uncertainty *uncertainty)
{
    nadir_membership membership;
    if (ceiling->kernel == NULL) {
        return NADIR_OK;
    }
    const nadir_status status = nadir_membership_check(context, ceiling->kernel, uncertainty, 1, &membership);
    if (status == NADIR_ERROR_VERIFICATION || (status == NADIR_OK && membership.minimum < 0)) {
        ceiling->upper = INFINITY;
        return NADIR_OK;
    }
    return status;
}
