/*
 * state_shape.c: what is asked of b = f_s pi, from one number of a state for each question; see
 * state_shape.h.
 *
 * b is f pi as it was rounded, so that sum pi b is f times the sum of pi^2 up to one rounding of b, one of
 * pi^2, A - 1 of the sum and one of the product: A + 2 in all, as nothing changes its sign within a state.
 * Roundings are monotone: the largest f pi as rounded is that of the largest pi.
 */
#include "adversary/proof/rank_one_states.h"

#include <math.h>

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
