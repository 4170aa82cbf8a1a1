/*
 * admissible_radii.c: evaluates those of many radii on the free domain that are below breakdown.
 *
 * In rising order the first radii are below breakdown and the others are not. At p = 2 the breakdown radius
 * tells how many are. For other norms only the search itself notices that a radius is too large: the number
 * is found by halving.
 */
#include "robust/evaluate.h"

#include <math.h>
#include <stdlib.h>

/* A radius with its place. */
typedef struct placed {
    double factor;
    int64_t place;
} placed;

static int by_factor(const void *left, const void *right)
{
    const placed *a = left;
    const placed *b = right;
    return a->factor != b->factor ? (a->factor > b->factor) - (a->factor < b->factor)
                                  : (a->place > b->place) - (a->place < b->place);
}

typedef struct below_run {
    nadir_context *context;
    const nadir_problem *problem;
    const nadir_robust_settings *settings;
    int64_t count;
    placed *order;                 /* [count] factors rising */
    double *factors;               /* [count] in that order */
    nadir_evaluation *evaluations; /* [count] likewise */
    double limit;                  /* breakdown is at this radius or before; infinity: not known */
} below_run;

static void clear_evaluations(const below_run *run)
{
    for (int64_t i = 0; run->evaluations != NULL && i < run->count; i++) {
        nadir_evaluation_clear(run->context, &run->evaluations[i]);
    }
}

/* How many radii, of those before `refused`, are below the limit. */
static int64_t count_below(const below_run *run, int64_t refused)
{
    int64_t below = 0;
    while (below < refused && run->factors[below] * run->problem->uncertainty->radius < run->limit) {
        below++;
    }
    return below;
}

/* *fine: the largest number of radii that have an answer. `refused` radii and more have none. The last
 * refusal stays in the context. */
static nadir_status search(below_run *run, int64_t *fine)
{
    nadir_status status = NADIR_OK;
    int64_t refused = run->count + 1;
    int64_t many = run->count;
    *fine = 0;
    for (;;) {
        double limit;
        status = nadir_free_evaluate_all(run->context, run->problem, run->settings, many, run->factors,
                                         run->evaluations, &limit);
        if (status == NADIR_OK) {
            *fine = many;
        } else if (status == NADIR_ERROR_ILL_POSED) {
            refused = many;
            run->limit = fmin(limit, run->factors[many - 1] * run->problem->uncertainty->radius);
            const int64_t below = isinf(limit) ? refused : count_below(run, refused);
            refused = below < refused ? below + 1 : refused;
        }
        if (status != NADIR_OK && status != NADIR_ERROR_ILL_POSED) {
            return status;
        }
        if (refused == 1 || (*fine + 1 == refused && status == NADIR_OK)) {
            return NADIR_OK;
        }
        clear_evaluations(run);
        many = isfinite(limit) || *fine + 1 == refused ? refused - 1 : *fine + (refused - *fine) / 2;
    }
}

/* Back to the order of the caller; radii without an answer are marked as refused. */
static void hand_over(below_run *run, int64_t fine, nadir_evaluation *evaluations)
{
    for (int64_t i = 0; i < run->count; i++) {
        nadir_evaluation *to = &evaluations[run->order[i].place];
        if (i < fine) {
            *to = run->evaluations[i];
            run->evaluations[i] = (nadir_evaluation){0};
        } else {
            *to = (nadir_evaluation){.refused = true, .breakdown = run->limit};
        }
    }
}

nadir_status nadir_admissible_radii_evaluate(nadir_context *context, const nadir_problem *problem,
                                             const nadir_robust_settings *settings, int64_t count,
                                             const double *factors, nadir_evaluation *evaluations)
{
    nadir_status status = NADIR_OK;
    below_run run = {context, problem, settings, count, NULL, NULL, NULL, INFINITY};
    int64_t fine;
    NADIR_NEW(context, run.order, count);
    NADIR_NEW(context, run.factors, count);
    NADIR_NEW_ZERO(context, run.evaluations, count);
    for (int64_t i = 0; i < count; i++) {
        run.order[i] = (placed){factors[i], i};
    }
    qsort(run.order, (size_t)count, sizeof *run.order, by_factor);
    for (int64_t i = 0; i < count; i++) {
        run.factors[i] = run.order[i].factor;
    }
    NADIR_CHECK(search(&run, &fine));
    hand_over(&run, fine, evaluations);
cleanup:
    clear_evaluations(&run);
    nadir_release(context, run.order);
    nadir_release(context, run.factors);
    nadir_release(context, run.evaluations);
    return status;
}
