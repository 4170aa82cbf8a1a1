/* difference_point.c: two policies under one kernel; see difference_search.h. */
#include "search/difference_search.h"

#include "linalg/vector.h"

#include <math.h>

nadir_status nadir_difference_search_make(nadir_context *context, const nadir_problem *a,
                                          const nadir_problem *b, nadir_difference_search *search)
{
    nadir_status status = NADIR_OK;
    search->problem[0] = a;
    search->problem[1] = b;
    search->operators[0].problem = a;
    search->operators[1].problem = b;
    NADIR_NEW(context, search->products, 2 * a->rows);
    NADIR_CHECK(nadir_lmo_row_costs_make(context, a->model, a->uncertainty, &search->costs));
cleanup:
    return status;
}

void nadir_difference_search_clear(nadir_context *context, nadir_difference_search *search)
{
    nadir_kernel_solver_clear(context, &search->operators[0]);
    nadir_kernel_solver_clear(context, &search->operators[1]);
    nadir_lmo_row_costs_clear(context, &search->costs);
    nadir_release(context, search->products);
    *search = (nadir_difference_search){0};
}

nadir_status nadir_difference_point_make(nadir_context *context, const nadir_difference_search *search,
                                         nadir_difference_point *point)
{
    nadir_status status = NADIR_OK;
    for (int i = 0; i < 2; i++) {
        NADIR_NEW(context, point->v[i], search->problem[0]->states);
        NADIR_NEW(context, point->d[i], search->problem[0]->states);
    }
cleanup:
    return status;
}

void nadir_difference_point_clear(nadir_context *context, nadir_difference_point *point)
{
    nadir_kernel_free(point->kernel);
    for (int i = 0; i < 2; i++) {
        nadir_release(context, point->v[i]);
        nadir_release(context, point->d[i]);
    }
    *point = (nadir_difference_point){0};
}

nadir_status nadir_difference_point_evaluate(nadir_context *context, nadir_difference_search *search,
                                             nadir_difference_point *point)
{
    nadir_status status = NADIR_OK;
    double error;
    for (int i = 0; i < 2; i++) {
        const nadir_problem *problem = search->problem[i];
        NADIR_CHECK(nadir_kernel_solver_set(context, &search->operators[i], point->kernel));
        NADIR_CHECK(nadir_kernel_solver_value(context, &search->operators[i], point->v[i], point->d[i]));
        point->J[i] = nadir_vector_dot(problem->states, problem->mu, point->v[i], &error);
    }
    point->f = point->J[0] - point->J[1];
cleanup:
    return status;
}

double nadir_difference_slope(const nadir_context *context, const nadir_difference_search *search,
                              const nadir_kernel *from, const nadir_kernel *to)
{
    const nadir_lmo_row_costs *costs = &search->costs;
    const int64_t rows = costs->model->rows;
    double total = 0;
    for (int i = 0; i < 2; i++) {
        const double *weights = i == 0 ? costs->a : costs->b;
        const double *x = i == 0 ? costs->x : costs->y;
        double sum = 0;
        nadir_kernel_multiply(context, to, x, search->products);
        nadir_kernel_multiply(context, from, x, search->products + rows);
        for (int64_t row = 0; row < rows; row++) {
            sum += weights[row] * (search->products[row] - search->products[rows + row]);
        }
        total += i == 0 ? sum : -sum;
    }
    return total * costs->scale;
}

nadir_status nadir_difference_linear_step(nadir_context *context, nadir_difference_search *search,
                                          const nadir_difference_point *point, double *gap)
{
    nadir_status status = NADIR_OK;
    const nadir_problem *const *problem = search->problem;
    NADIR_CHECK(nadir_lmo_row_costs_set(context, &search->costs, problem[0]->gamma, point->d[0],
                                        problem[0]->policy->probabilities, point->v[0], point->d[1],
                                        problem[1]->policy->probabilities, point->v[1]));
    NADIR_CHECK(nadir_lmo_row_costs_solve(context, &search->costs));
    const double moved = nadir_difference_slope(context, search, problem[0]->kernel, point->kernel);
    *gap = fmax(0, moved + search->costs.gain);
cleanup:
    return status;
}
