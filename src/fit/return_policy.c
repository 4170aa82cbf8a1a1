/*
 * return_policy.c: the policy whose return is high and well known: J - z sqrt(f) as high as possible; see returns.h.
 *
 * To first order J - z sqrt(f) is the worst return over a chi-squared ball of radius z around the mean kernel.
 */
#include "fit/returns.h"
#include "model/policy.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { ASCENT_STEPS = 200 };
/* It ends where a step gains less than this share of the deviation. */
static const double least_gain = 1e-5;

/* The point of the simplex over the rows that may be taken which is nearest to p + step g. p, g, to: [count] */
static void project(int64_t count, const bool *taken, const double *p, const double *g, double step,
                    double *to)
{
    double level = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        to[i] = taken[i] ? p[i] + step * g[i] : -INFINITY;
    }
    for (int64_t i = 0; i < count; i++) { /* the level of which to[i] is the smallest that stays */
        double sum = -1;
        int64_t above = 0;
        for (int64_t k = 0; taken[i] && k < count; k++) {
            if (to[k] >= to[i]) {
                sum += to[k];
                above++;
            }
        }
        const double own = above > 0 ? sum / (double)above : -INFINITY;
        level = above > 0 && own < to[i] ? fmax(level, own) : level;
    }
    double total = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = taken[i] ? fmax(to[i] - level, 0) : 0;
        total += to[i];
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] /= total;
    }
}

/* A step along the slope, for each state relative to its occupancy: with a long one every state takes its best row. */
static void move(const nadir_return_problem *problem, const nadir_return_measure *measure, const double *pi,
                 const double *slope, double step, double *own, double *to)
{
    const nadir_model *model = problem->model;
    for (int64_t state = 0; state < model->states; state++) {
        const int64_t first = model->state_rows[state];
        const int64_t count = model->state_rows[state + 1] - first;
        double best = -INFINITY;
        double spread = 0;
        for (int64_t i = 0; i < count; i++) {
            best = problem->taken[first + i] ? fmax(best, slope[first + i]) : best;
        }
        for (int64_t i = 0; i < count; i++) {
            own[i] = slope[first + i] - best;
            spread = problem->taken[first + i] ? fmax(spread, -own[i]) : spread;
        }
        const double scale = measure->d[state] > 0 && spread > 0 ? step / measure->d[state] : 0;
        project(count, problem->taken + first, pi + first, own, scale, to + first);
    }
}

/* The gain of a step is tried with steps ever shorter; *gain 0: none is better. */
static nadir_status climb(nadir_context *context, nadir_return_problem *problem, double z,
                          nadir_policy *policy, nadir_policy *next, nadir_return_measure *measure,
                          const double *slope, double *own, double *step, double *gain)
{
    const double before = measure->J - z * sqrt(measure->f);
    const double wanted = least_gain * sqrt(measure->f) + 16 * DBL_EPSILON * fabs(measure->J);
    for (int tries = 0; tries < 40; tries++) {
        move(problem, measure, policy->probabilities, slope, *step, own, next->probabilities);
        double first = 0;
        for (int64_t row = 0; row < problem->model->rows; row++) {
            first += slope[row] * (next->probabilities[row] - policy->probabilities[row]);
        }
        if (!(first > wanted)) {
            break;
        }
        nadir_return_measure after = *measure; /* shares the arrays */
        NADIR_TRY(nadir_return_measure_take(context, problem, next, &after));
        *gain = after.J - z * sqrt(after.f) - before;
        if (*gain > 0.1 * first) {
            measure->J = after.J;
            measure->f = after.f;
            memcpy(policy->probabilities, next->probabilities, (size_t)problem->model->rows * sizeof(double));
            return NADIR_OK;
        }
        NADIR_TRY(nadir_return_measure_take(context, problem, policy, measure));
        *step /= 4;
    }
    *gain = 0;
    return NADIR_OK;
}

nadir_status nadir_return_ascend(nadir_context *context, nadir_return_problem *problem, double z,
                                 nadir_policy *policy)
{
    nadir_status status = NADIR_OK;
    nadir_return_measure measure = {0};
    nadir_policy *next = NULL;
    double *slope = NULL;
    double *own = NULL;
    double step = NAN;
    double gain = 1;
    NADIR_CHECK(nadir_return_measure_make(context, problem, &measure));
    NADIR_CHECK(nadir_policy_create_blank(context, problem->model, &next));
    NADIR_NEW(context, slope, problem->model->rows);
    NADIR_NEW(context, own, nadir_model_most_actions(problem->model));
    NADIR_CHECK(nadir_return_measure_take(context, problem, policy, &measure));
    for (int i = 0; i < ASCENT_STEPS && gain > 0; i++) {
        NADIR_CHECK(nadir_return_slope(context, problem, policy, &measure, z, slope));
        if (i == 0) { /* a step of 1 for a change of Q by the smallest deviation that matters */
            step = 1e3 / fmax(sqrt(measure.f), DBL_MIN);
        }
        NADIR_CHECK(climb(context, problem, z, policy, next, &measure, slope, own, &step, &gain));
        step *= 16;
        NADIR_CHECK(nadir_progress(context, "choosing a policy", -1));
    }
cleanup:
    nadir_return_measure_clear(context, &measure);
    nadir_policy_free(next);
    NADIR_RELEASE(context, slope, own);
    return status;
}

/* ---- Policies to start from -------------------------------------------------------------------------- */

static nadir_status spread(nadir_context *context, const nadir_return_problem *problem, const double *weights,
                           nadir_policy **policy)
{
    const nadir_model *model = problem->model;
    NADIR_TRY(nadir_policy_create_blank(context, model, policy));
    for (int64_t state = 0; state < model->states; state++) {
        double sum = 0;
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            sum += weights[row];
        }
        const double each = 1 / (double)(model->state_rows[state + 1] - model->state_rows[state]);
        for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
            (*policy)->probabilities[row] = sum > 0 ? weights[row] / sum : each;
        }
    }
    return NADIR_OK;
}

nadir_status nadir_return_behaviour(nadir_context *context, const nadir_return_problem *problem,
                                    nadir_policy **policy)
{
    return spread(context, problem, problem->fit->evidence.visits, policy);
}

/* Policy iteration: with z = 0 a long step takes the best row of every state. */
nadir_status nadir_return_nominal(nadir_context *context, nadir_return_problem *problem,
                                  nadir_policy **policy)
{
    nadir_status status = NADIR_OK;
    nadir_return_measure measure = {0};
    nadir_policy *made = NULL;
    double *taken = NULL;
    bool changed = true;
    NADIR_NEW(context, taken, problem->model->rows);
    for (int64_t row = 0; row < problem->model->rows; row++) {
        taken[row] = problem->taken[row] ? 1 : 0;
    }
    NADIR_CHECK(spread(context, problem, taken, &made));
    NADIR_CHECK(nadir_return_measure_make(context, problem, &measure));
    for (int i = 0; i < ASCENT_STEPS && changed; i++) {
        const nadir_model *model = problem->model;
        changed = false;
        NADIR_CHECK(nadir_return_measure_take(context, problem, made, &measure));
        for (int64_t state = 0; state < model->states; state++) {
            int64_t best = -1;
            for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
                const double slack = made->probabilities[row] == 1 ? 1e-12 * fabs(measure.Q[row]) : 0;
                const bool better =
                    best < 0 || measure.Q[row] + slack >
                                    measure.Q[best] +
                                        (made->probabilities[best] == 1 ? 1e-12 * fabs(measure.Q[best]) : 0);
                best = problem->taken[row] && better ? row : best;
            }
            changed = changed || made->probabilities[best] != 1;
            for (int64_t row = model->state_rows[state]; row < model->state_rows[state + 1]; row++) {
                made->probabilities[row] = row == best ? 1 : 0;
            }
        }
    }
    *policy = made;
    made = NULL;
cleanup:
    nadir_policy_free(made);
    nadir_return_measure_clear(context, &measure);
    nadir_release(context, taken);
    return status;
}
