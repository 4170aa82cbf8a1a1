/*
 * rank_one_states.c: b from c, and sums over the actions of b = f_s pi; see rank_one_states.h.
 *
 * b is f pi as it was rounded, so that sum pi b is f times the sum of pi^2 up to one rounding of b, one of
 * pi^2, A - 1 of the sum and one of the product: A + 2 in all, as nothing changes its sign within a state.
 * Roundings are monotone: the largest f pi as rounded is that of the largest pi.
 */
#include "proof/rank_one_check.h"

#include "linalg/vector.h"

#include <math.h>
#include <string.h>

void nadir_rank_one_states_average(const nadir_problem *problem, const double *b, double *b_pi,
                                   double *largest)
{
    const int64_t *state_rows = problem->model->state_rows;
    const double *pi = problem->policy->probabilities;
    *largest = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        double size = 0;
        double sum = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            const double term = pi[row] * b[row];
            sum += term;
            size += fabs(term);
        }
        b_pi[s] = sum;
        *largest = size > *largest ? size : *largest;
    }
}

/* b / c_s for the rows first .. end - 1 of one state: alpha (alpha pi / W)^(q - 1). */
static void shape_state(const nadir_problem *problem, int64_t first, int64_t end, double *b)
{
    const nadir_uncertainty *set = problem->uncertainty;
    const double *pi = problem->policy->probabilities;
    double largest = 0;
    int64_t place = first;
    for (int64_t row = first; row < end; row++) {
        b[row] = nadir_uncertainty_scale(set, row) * pi[row];
        place = b[row] > largest ? row : place;
        largest = b[row] > largest ? b[row] : largest;
    }
    for (int64_t row = first; row < end; row++) {
        if (isinf(set->q)) {
            b[row] = row == place ? 1 : 0;
        } else if (set->q == 1) {
            b[row] = b[row] > 0 ? 1 : 0;
        } else {
            b[row] = nadir_power(b[row] / largest, set->q - 1);
        }
    }
    /* Powers are off by q roundings: their own norm brings the p-norm of b / alpha to 1 whatever q. */
    const double norm = nadir_norm_short(end - first, b + first, set->p);
    for (int64_t row = first; row < end; row++) {
        b[row] = b[row] / norm * nadir_uncertainty_scale(set, row);
    }
}

/* q = 2: b = (c_s / W_s) alpha^2 pi. */
static void shape_state_2(const nadir_problem *problem, int64_t first, int64_t end, double factor, double *b)
{
    const double *pi = problem->policy->probabilities;
    const double *scales = problem->uncertainty->scales;
    for (int64_t row = first; row < end; row++) {
        b[row] = factor * pi[row];
    }
    for (int64_t row = first; row < end && scales != NULL; row++) {
        b[row] *= scales[row] * scales[row];
    }
}

void nadir_rank_one_states_expand(const nadir_problem *problem, const double *c, double *b)
{
    const int64_t *state_rows = problem->model->state_rows;
    for (int64_t s = 0; s < problem->states; s++) {
        const int64_t first = state_rows[s];
        const int64_t end = state_rows[s + 1];
        if (!(problem->uncertainty->W[s] > 0)) {
            memset(b + first, 0, (size_t)(end - first) * sizeof *b);
            continue;
        }
        if (problem->uncertainty->q == 2) {
            shape_state_2(problem, first, end, c[s] / problem->uncertainty->W[s], b);
            continue;
        }
        shape_state(problem, first, end, b);
        for (int64_t row = first; row < end; row++) {
            b[row] *= c[s];
        }
    }
}

bool nadir_rank_one_states_fits(const nadir_problem *problem)
{
    const nadir_uncertainty *set = problem->uncertainty;
    return set->set == NADIR_SET_NONRECT && set->p == 2 && set->q == 2 && set->scales == NULL &&
           problem->model->exchange == NULL;
}

void nadir_rank_one_states_clear(nadir_context *context, nadir_rank_one_states *shape)
{
    nadir_release(context, shape->square);
    *shape = (nadir_rank_one_states){0};
}

nadir_status nadir_rank_one_states_make(nadir_context *context, const nadir_problem *problem,
                                        nadir_rank_one_states *shape)
{
    nadir_status status = NADIR_OK;
    const int64_t n = problem->states;
    const int64_t *state_rows = problem->model->state_rows;
    const double *pi = problem->policy->probabilities;
    NADIR_NEW(context, shape->square, 5 * n);
    shape->root = shape->square + n;
    shape->top = shape->root + n;
    shape->factors = shape->top + n;
    shape->sizes = shape->factors + n;
    for (int64_t s = 0; s < n; s++) {
        double square = 0;
        double top = 0;
        for (int64_t row = state_rows[s]; row < state_rows[s + 1]; row++) {
            square += pi[row] * pi[row];
            top = pi[row] > top ? pi[row] : top;
        }
        shape->square[s] = square;
        shape->root[s] = sqrt(square);
        shape->top[s] = top;
    }
cleanup:
    return status;
}

void nadir_rank_one_states_read(const nadir_problem *problem, nadir_rank_one_states *shape, const double *c,
                                double *b_pi, double *b_largest)
{
    const double *W = problem->uncertainty->W;
    double largest = 0;
    for (int64_t s = 0; s < problem->states; s++) {
        const double factor = W[s] > 0 ? c[s] / W[s] : 0;
        const double here = fabs(factor * shape->top[s]);
        shape->factors[s] = factor;
        shape->sizes[s] = factor * shape->root[s];
        b_pi[s] = factor * shape->square[s];
        largest = here > largest ? here : largest;
    }
    *b_largest = largest;
}
