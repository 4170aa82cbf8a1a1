/*
 * pair_search.c: downhill on f(P) = J^A_P - J^B_P; see pair.h.
 *
 * Steps to the X of the linear step, all the way, as long as f falls by a small share of what that promises:
 * where the ball is curved that ends fast. But f need not be least at a vertex of a polytope, even on
 * rectangular sets, and steps to vertices then hardly get on. So when the first one fails, steps of the
 * spectral projected gradient method take over: to the X that makes the slope and bend / 2 |X - P|^2
 * smallest, with the bend that the last step saw (Barzilai and Borwein), shortened by the minimum of a
 * parabola until f falls. The linear step still tells how far from stationary the point is.
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
/* After so many steps f must have fallen by a share of the tolerance. */
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

/* A search under way. */
typedef struct descent {
    nadir_pair *pair;
    nadir_pair_point *here;
    nadir_pair_point there;
    bool careful; /* the linear step went too far once */
    double bend;  /* of f along the last step; 0: not known */
    double tau;   /* of the step that led here */
} descent;

/* Part of the way to `whole`, which is `length` away; slope: of f along all of it, below 0; f there: known.
 * *moved: the part; 0: no step helps. */
static nadir_status shorten(nadir_context *context, descent *at, const nadir_kernel *whole, double slope,
                            double *moved)
{
    nadir_status status = NADIR_OK;
    nadir_pair_point *here = at->here;
    nadir_pair_point *there = &at->there;
    double t = 1;
    while (!(there->f <= here->f + ARMIJO * t * slope) && t > SHORTEST) {
        const double bent = there->f - here->f - t * slope; /* above 0, or the step would do */
        const double least = -slope * t * t / (2 * bent);
        t = fmax(fmin(least, 0.5 * t), 0.1 * t);
        nadir_kernel_free(there->kernel);
        there->kernel = NULL;
        NADIR_CHECK(
            nadir_kernel_mix(context, at->pair->problem[0]->model, here->kernel, whole, t, &there->kernel));
        NADIR_CHECK(nadir_pair_evaluate(context, at->pair, there));
    }
    *moved = there->f <= here->f + ARMIJO * t * slope ? t : 0;
cleanup:
    return status;
}

/* The bend that a step of this length, to where the linear step promises `gap`, would make good. */
static double first_bend(const descent *at, double gap)
{
    const nadir_uncertainty *set = at->pair->costs.set;
    return gap / (set->radius * set->radius);
}

/* A step of the projected gradient. */
static nadir_status step_near(nadir_context *context, descent *at, double gap, double *moved)
{
    nadir_status status = NADIR_OK;
    nadir_pair *pair = at->pair;
    nadir_kernel *whole = NULL;
    double length;
    *moved = 0;
    /* where f bends down, or not at all, this is nearly the linear step */
    const double bend = at->bend > 0 ? fmax(at->bend, 1e-3 * first_bend(at, gap)) : first_bend(at, gap);
    NADIR_CHECK(nadir_lmo_row_costs_proximal(context, &pair->costs, at->here->kernel, bend, &length));
    at->tau = pair->costs.tau;
    NADIR_CHECK(take_whole(context, pair, &at->there));
    const double slope = nadir_pair_slope(context, pair, at->here->kernel, at->there.kernel);
    if (!(slope < 0) || !(length > 0)) {
        goto cleanup;
    }
    NADIR_CHECK(
        nadir_kernel_mix(context, pair->problem[0]->model, at->there.kernel, at->there.kernel, 0, &whole));
    NADIR_CHECK(shorten(context, at, whole, slope, moved));
    if (*moved > 0) {
        NADIR_CHECK(nadir_pair_look(context, pair, &at->there, &gap));
        const double after = nadir_pair_slope(context, pair, at->here->kernel, whole);
        const double seen = (after - slope) / (*moved * length);
        /* f may bend down: then a longer step, but not by much at once */
        at->bend = fmin(fmax(seen, 0.05 * bend), 1e6 * bend);
        swap_points(at->here, &at->there);
    }
cleanup:
    nadir_kernel_free(whole);
    return status;
}

/* here <- X, or some way there. *moved: 0 when no step helps. */
static nadir_status step(nadir_context *context, descent *at, double gap, double *moved)
{
    nadir_status status = NADIR_OK;
    *moved = 0;
    if (!at->careful) {
        at->tau = at->pair->costs.tau;
        NADIR_CHECK(take_whole(context, at->pair, &at->there));
        *moved = at->there.f <= at->here->f - ARMIJO * gap;
        at->careful = *moved == 0;
        if (*moved > 0) {
            swap_points(at->here, &at->there);
        }
    }
    if (*moved == 0) {
        NADIR_CHECK(step_near(context, at, gap, moved));
    }
cleanup:
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
    descent at = {.pair = pair, .here = &found->point};
    const double nominal = pair->problem[0]->J - pair->problem[1]->J;
    double before = INFINITY; /* f some steps ago */
    double moved = 1;
    NADIR_CHECK(nadir_pair_point_make(context, pair, &at.there));
    NADIR_CHECK(begin(context, pair, start, at.here));
    NADIR_CHECK(nadir_pair_look(context, pair, at.here, &found->gap));
    while (found->stop_reason == NULL && found->iterations < iterations_limit) {
        const double enough = tolerance * fabs(nominal - at.here->f);
        if (found->gap <= fmax(enough, rounding(pair, at.here))) {
            found->stop_reason = found->gap <= enough ? "tolerance" : "stable";
        } else if (found->iterations % PATIENCE == 0) {
            /* the longer it takes the less is hoped for */
            const double hoped = enough * fmax(0.1, 0.01 * (double)found->iterations);
            found->stop_reason = before - at.here->f <= hoped ? "stalled" : NULL;
            before = at.here->f;
        }
        if (found->stop_reason != NULL) {
            break;
        }
        NADIR_CHECK(nadir_progress(context, "worst kernel of the difference", -1));
        NADIR_CHECK(step(context, &at, found->gap, &moved));
        found->iterations++;
        if (moved == 0) {
            found->stop_reason = "stable";
            break;
        }
        found->tau = at.tau;
        NADIR_CHECK(nadir_pair_look(context, pair, at.here, &found->gap));
    }
    found->converged = found->stop_reason != NULL;
    found->stop_reason = found->converged ? found->stop_reason : "iterations";
cleanup:
    nadir_pair_point_clear(context, &at.there);
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
