/* pair.c: two policies under one kernel; see pair.h. */
#include "adversary/difference/pair.h"

#include "linalg/vector.h"

#include <math.h>

nadir_status nadir_pair_make(nadir_context *context, const nadir_problem *a, const nadir_problem *b,
                             nadir_pair *pair)
{
    nadir_status status = NADIR_OK;
    pair->problem[0] = a;
    pair->problem[1] = b;
    pair->operators[0].problem = a;
    pair->operators[1].problem = b;
    NADIR_NEW(context, pair->products, 2 * a->rows);
    NADIR_CHECK(nadir_lmo_row_costs_make(context, a->model, a->uncertainty, &pair->costs));
cleanup:
    return status;
}

void nadir_pair_clear(nadir_context *context, nadir_pair *pair)
{
    nadir_valid_operator_clear(context, &pair->operators[0]);
    nadir_valid_operator_clear(context, &pair->operators[1]);
    nadir_lmo_row_costs_clear(context, &pair->costs);
    nadir_release(context, pair->products);
    *pair = (nadir_pair){0};
}

nadir_status nadir_pair_point_make(nadir_context *context, const nadir_pair *pair, nadir_pair_point *point)
{
    nadir_status status = NADIR_OK;
    for (int i = 0; i < 2; i++) {
        NADIR_NEW(context, point->v[i], pair->problem[0]->states);
        NADIR_NEW(context, point->d[i], pair->problem[0]->states);
    }
cleanup:
    return status;
}

void nadir_pair_point_clear(nadir_context *context, nadir_pair_point *point)
{
    nadir_kernel_free(point->kernel);
    for (int i = 0; i < 2; i++) {
        nadir_release(context, point->v[i]);
        nadir_release(context, point->d[i]);
    }
    *point = (nadir_pair_point){0};
}

nadir_status nadir_pair_evaluate(nadir_context *context, nadir_pair *pair, nadir_pair_point *point)
{
    nadir_status status = NADIR_OK;
    double error;
    for (int i = 0; i < 2; i++) {
        const nadir_problem *problem = pair->problem[i];
        NADIR_CHECK(nadir_valid_operator_set(context, &pair->operators[i], point->kernel));
        NADIR_CHECK(nadir_valid_operator_value(context, &pair->operators[i], point->v[i], point->d[i]));
        point->J[i] = nadir_vector_dot(problem->states, problem->mu, point->v[i], &error);
    }
    point->f = point->J[0] - point->J[1];
cleanup:
    return status;
}

double nadir_pair_slope(const nadir_context *context, const nadir_pair *pair, const nadir_kernel *from,
                        const nadir_kernel *to)
{
    const nadir_lmo_row_costs *costs = &pair->costs;
    const int64_t rows = costs->model->rows;
    double total = 0;
    for (int i = 0; i < 2; i++) {
        const double *weights = i == 0 ? costs->a : costs->b;
        const double *x = i == 0 ? costs->x : costs->y;
        double sum = 0;
        nadir_kernel_multiply(context, to, x, pair->products);
        nadir_kernel_multiply(context, from, x, pair->products + rows);
        for (int64_t row = 0; row < rows; row++) {
            sum += weights[row] * (pair->products[row] - pair->products[rows + row]);
        }
        total += i == 0 ? sum : -sum;
    }
    return total * costs->scale;
}

nadir_status nadir_pair_look(nadir_context *context, nadir_pair *pair, const nadir_pair_point *point,
                             double *gap)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *const *problem = pair->problem;
    NADIR_CHECK(nadir_lmo_row_costs_set(context, &pair->costs, problem[0]->gamma, point->d[0],
                                        problem[0]->policy->probabilities, point->v[0], point->d[1],
                                        problem[1]->policy->probabilities, point->v[1]));
    NADIR_CHECK(nadir_lmo_row_costs_solve(context, &pair->costs));
    const double moved = nadir_pair_slope(context, pair, problem[0]->kernel, point->kernel);
    *gap = fmax(0, moved + pair->costs.gain);
cleanup:
    return status;
}
