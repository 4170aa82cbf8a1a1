/*
 * pair_search.c: conditional gradient on f(P) = J^A_P - J^B_P; see pair.h.
 *
 * Steps go to the X of the linear step, all the way if f falls by a small share of what that promises, else
 * to the minimum of the parabola with f and its slope here and f there, and from then on halved. Unlike the
 * return of one policy, f need not be least at a vertex of a rectangular set, and steps to vertices then
 * become slow; a search that no longer gets on has "stalled".
 */
#include "adversary/difference/pair.h"
#include "adversary/difference/second_order.h"
#include "adversary/valid/kernel_mix.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The share of its promise that a step must keep. */
#define ARMIJO 1e-4
/* Steps shorter than this are not tried. */
#define SHORTEST 1e-9
/* After so many steps f must have fallen by more than the tolerance. */
#define PATIENCE 30
/* Full steps of a polish. */
#define POLISH_STEPS 100

static void swap_points(nadir_pair_point *a, nadir_pair_point *b)
{
    const nadir_pair_point kept = *a;
    *a = *b;
    *b = kept;
}

/* The kernel of the linear step. */
static nadir_status take_whole(nadir_context *context, nadir_pair *pair, nadir_pair_point *there)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_free(there->kernel);
    there->kernel = NULL;
    NADIR_CHECK(
        nadir_kernel_create_changed(context, pair->problem[0]->model, &pair->costs.changed, &there->kernel));
    NADIR_CHECK(nadir_pair_evaluate(context, pair, there));
cleanup:
    return status;
}

/* here <- X, or part of the way. *moved: the part; 0 when no step helps. */
static nadir_status step(nadir_context *context, nadir_pair *pair, double gap, nadir_pair_point *here,
                         nadir_pair_point *there, double *moved)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *whole = NULL;
    double t = 1;
    *moved = 0;
    NADIR_CHECK(take_whole(context, pair, there));
    bool good = there->f <= here->f - ARMIJO * gap;
    if (!good) {
        const double bend = there->f - here->f + gap; /* 0 or more, or the step would be good */
        whole = there->kernel;
        there->kernel = NULL;
        t = fmin(0.5, gap / (2 * bend));
    }
    while (!good && t > SHORTEST) {
        nadir_kernel_free(there->kernel);
        there->kernel = NULL;
        NADIR_CHECK(
            nadir_kernel_mix(context, pair->problem[0]->model, here->kernel, whole, t, &there->kernel));
        NADIR_CHECK(nadir_pair_evaluate(context, pair, there));
        good = there->f <= here->f - ARMIJO * t * gap;
        t = good ? t : t / 2;
    }
    if (good) {
        *moved = t;
        swap_points(here, there);
    }
cleanup:
    nadir_kernel_free(whole);
    return status;
}

static nadir_status begin(nadir_context *context, nadir_pair *pair, const nadir_kernel *start,
                          nadir_pair_point *here)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = pair->problem[0];
    NADIR_CHECK(nadir_pair_point_make(context, pair, here));
    if (start == NULL) {
        NADIR_CHECK(nadir_kernel_create(context, problem->model, &here->kernel));
    } else {
        NADIR_CHECK(nadir_kernel_mix(context, problem->model, start, start, 0, &here->kernel));
    }
    NADIR_CHECK(nadir_pair_evaluate(context, pair, here));
cleanup:
    return status;
}

/* Differences of f below this are rounding. */
static double rounding(const nadir_pair *pair, const nadir_pair_point *here)
{
    const nadir_problem *problem = pair->problem[0];
    const double largest =
        nadir_vector_largest(problem->states, here->v[0]) + nadir_vector_largest(problem->states, here->v[1]);
    return 16 * DBL_EPSILON * largest / (1 - problem->gamma);
}

nadir_status nadir_pair_search(nadir_context *context, nadir_pair *pair, const nadir_kernel *start,
                               double tolerance, int64_t iterations_limit, nadir_pair_found *found)
{
    nadir_status status = NADIR_OK;
    nadir_pair_point there = {0};
    nadir_pair_point *here = &found->point;
    const double nominal = pair->problem[0]->J - pair->problem[1]->J;
    double before = INFINITY; /* f some steps ago */
    double moved = 1;
    NADIR_CHECK(nadir_pair_point_make(context, pair, &there));
    NADIR_CHECK(begin(context, pair, start, here));
    NADIR_CHECK(nadir_pair_look(context, pair, here, &found->gap));
    while (found->stop_reason == NULL && found->iterations < iterations_limit) {
        const double enough = tolerance * fabs(nominal - here->f);
        if (found->iterations % PATIENCE == 0) {
            found->stop_reason = before - here->f <= enough ? "stalled" : NULL;
            before = here->f;
        }
        if (found->gap <= fmax(enough, rounding(pair, here))) {
            found->stop_reason = found->gap <= enough ? "tolerance" : "stable";
        }
        if (found->stop_reason != NULL) {
            break;
        }
        NADIR_CHECK(nadir_progress(context, "worst kernel of the difference", -1));
        const double tau = pair->costs.tau;
        NADIR_CHECK(step(context, pair, found->gap, here, &there, &moved));
        found->iterations++;
        if (moved == 0) {
            found->stop_reason = "stable";
            break;
        }
        found->tau = tau;
        NADIR_CHECK(nadir_pair_look(context, pair, here, &found->gap));
    }
    found->converged = found->stop_reason != NULL;
    found->stop_reason = found->converged ? found->stop_reason : "iterations";
cleanup:
    nadir_pair_point_clear(context, &there);
    return status;
}

nadir_status nadir_pair_polish(nadir_context *context, nadir_pair *pair, double wanted,
                               nadir_pair_found *found)
{
    nadir_status status = NADIR_OK;
    nadir_pair_point here = {0};
    nadir_pair_point there = {0};
    nadir_pair_point *best = &found->point;
    const nadir_uncertainty *set = pair->problem[0]->uncertainty;
    double least;
    double slack;
    double gap;
    if (set->set != NADIR_SET_NONRECT || set->p != 2) {
        return NADIR_OK;
    }
    const double highest = best->f + wanted; /* a polish must not undo the search */
    NADIR_CHECK(nadir_pair_point_make(context, pair, &there));
    NADIR_CHECK(begin(context, pair, best->kernel, &here));
    NADIR_CHECK(nadir_pair_look(context, pair, &here, &gap));
    NADIR_CHECK(nadir_pair_slack(context, pair, &here, found->tau, &least));
    for (int i = 0, worse = 0; i < POLISH_STEPS && worse < 3 && least > wanted; i++) {
        const double tau = pair->costs.tau;
        NADIR_CHECK(nadir_progress(context, "worst kernel of the difference", -1));
        NADIR_CHECK(take_whole(context, pair, &there));
        swap_points(&here, &there);
        NADIR_CHECK(nadir_pair_look(context, pair, &here, &gap));
        NADIR_CHECK(nadir_pair_slack(context, pair, &here, tau, &slack));
        const bool better = slack < least && here.f <= highest;
        worse = better ? 0 : worse + 1;
        if (better) {
            least = slack;
            nadir_kernel_free(best->kernel);
            best->kernel = NULL;
            NADIR_CHECK(nadir_kernel_mix(context, pair->problem[0]->model, here.kernel, here.kernel, 0,
                                         &best->kernel));
            found->tau = tau;
            found->gap = gap;
        }
        found->iterations++;
    }
    NADIR_CHECK(nadir_pair_evaluate(context, pair, best));
    NADIR_CHECK(nadir_pair_look(context, pair, best, &found->gap));
cleanup:
    nadir_pair_point_clear(context, &here);
    nadir_pair_point_clear(context, &there);
    return status;
}
