/*
 * conservative_valid.c: method conservative on the domains simplex and support, where the linear step is a
 * kernel of rows.h; see conservative.h.
 */
#include "baseline/conservative.h"

#include "adversary/rows/rows.h"
#include "adversary/valid/kernel_mix.h"
#include "adversary/valid/operator.h"
#include "linalg/vector.h"

#include <float.h>
#include <math.h>

typedef struct walk {
    const nadir_problem *problem;
    double beta;
    nadir_valid_operator operator;
    nadir_kernel *here;
    nadir_kernel *there; /* the linear step */
    nadir_order order;   /* of v */
    nadir_rows rows;
    nadir_row_answer *answers; /* [rows] */
    nadir_row_budget budget;
    double *weights; /* [rows] gamma d pi */
    double *own;     /* [rows] P_r . x */
    double *nominal; /* [rows] Phat_r . x */
    double *v;       /* [states] */
    double *d;       /* [states] */
    double J;
    double gap;
} walk;

static nadir_status start(nadir_context *context, walk *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const nadir_uncertainty *set = problem->uncertainty;
    at->operator=(nadir_valid_operator){.problem = problem};
    at->rows = (nadir_rows){.model = problem->model,
                            .order = &at->order,
                            .scales = set->scales,
                            .domain = set->domain,
                            .p = set->p,
                            .q = set->q};
    NADIR_NEW_ZERO(context, at->answers, problem->rows);
    NADIR_NEW(context, at->weights, problem->rows);
    NADIR_NEW(context, at->own, problem->rows);
    NADIR_NEW(context, at->nominal, problem->rows);
    NADIR_NEW(context, at->v, problem->states);
    NADIR_NEW(context, at->d, problem->states);
    NADIR_CHECK(nadir_kernel_create(context, problem->model, &at->here));
cleanup:
    return status;
}

static void finish(nadir_context *context, walk *at)
{
    nadir_valid_operator_clear(context, &at->operator);
    nadir_kernel_free(at->here);
    nadir_kernel_free(at->there);
    nadir_order_clear(context, &at->order);
    nadir_release(context, at->answers);
    nadir_release(context, at->weights);
    nadir_release(context, at->own);
    nadir_release(context, at->nominal);
    nadir_release(context, at->v);
    nadir_release(context, at->d);
}

/* J, v and d here; the linear step from here, and what it promises. */
static nadir_status look(nadir_context *context, walk *at)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *problem = at->problem;
    const int64_t *state_rows = problem->model->state_rows;
    NADIR_CHECK(nadir_valid_operator_set(context, &at->operator, at->here));
    NADIR_CHECK(nadir_valid_operator_value(context, &at->operator, at->v, at->d));
    at->J = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        at->J += problem->mu[s] * at->v[s];
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            at->weights[row] = problem->gamma * fmax(0, at->d[s]) * problem->policy->probabilities[row];
        }
    }
    NADIR_CHECK(nadir_order_make(context, problem->states, at->v, &at->order));
    NADIR_CHECK(nadir_rows_share_all(context, &at->rows, at->weights, at->beta, at->answers, &at->budget));
    nadir_kernel_multiply(context, at->here, at->order.x, at->own);
    nadir_kernel_multiply(context, problem->kernel, at->order.x, at->nominal);
    double gap = 0;
    for (int64_t row = 0; row < problem->rows; row++) {
        const double gone = (at->own[row] - at->nominal[row]) * at->order.range;
        gap += at->weights[row] * (gone + at->answers[row].gain);
    }
    at->gap = fmax(0, gap);
cleanup:
    return status;
}

static nadir_status step(nadir_context *context, walk *at, double t)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *mixed = NULL;
    NADIR_CHECK(nadir_rows_kernel(context, &at->rows, at->answers, &at->there));
    NADIR_CHECK(nadir_kernel_mix(context, at->problem->model, at->here, at->there, t, &mixed));
    nadir_kernel_free(at->here);
    at->here = mixed;
cleanup:
    return status;
}

nadir_status nadir_conservative_valid(nadir_context *context, const nadir_problem *problem, double beta,
                                      nadir_track *track, nadir_attack *attack)
{
    nadir_status status = NADIR_OK;
    walk at = {.problem = problem, .beta = beta};
    const double range = nadir_conservative_range(problem);
    const double rounding = DBL_EPSILON * nadir_vector_largest(problem->states, problem->v);
    NADIR_CHECK(start(context, &at));
    NADIR_CHECK(look(context, &at));
    while ((attack->stop_reason = nadir_track_spent(track)) == NULL) {
        if (at.gap <= fmax(track->budget.tolerance * (problem->J - at.J), rounding)) {
            attack->stop_reason = "tolerance";
            attack->converged = true;
            break;
        }
        NADIR_CHECK(step(context, &at, nadir_conservative_step(problem, range, at.gap)));
        NADIR_CHECK(look(context, &at));
        NADIR_CHECK(nadir_track_note(context, track, track->samples + 1, problem->J - at.J));
    }
    attack->kernel = at.here;
    attack->v = at.v;
    attack->d = at.d;
    attack->tau = at.budget.tau;
    attack->J = at.J;
    attack->lambda = problem->J - at.J;
    attack->iterations = track->samples;
    attack->gap = at.gap;
    at.here = NULL;
    at.v = NULL;
    at.d = NULL;
cleanup:
    finish(context, &at);
    return status;
}
