/*
 * lagrangian_kernel_in_ball.c: a kernel of the ball from the kernel of a Lagrangian bound; see
 * lagrangian_tau.h.
 *
 * P = Phat + t (P_tau - Phat), t <= 1, has t times the distance of P_tau, and every row is a mixture of two
 * distributions. In this form nominal rows of P_tau stay exactly nominal, and no entry becomes negative.
 */
#include "search/lagrangian_search.h"

#include "search/kernel_solver.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A margin for rounding: the result lies in the ball. */
#define WITHIN (1 - 32 * DBL_EPSILON)

static double mix(double nominal, double share, double other)
{
    return nominal + share * (other - nominal);
}

/* The off-support tail of a row, times share: it must not become negative at its last state, where it is
 * smallest. */
static void shrink_line(const nadir_perturbed *from, int64_t row, double share, nadir_perturbed *to)
{
    to->omega[row] = share * from->omega[row];
    to->slope[row] = share * from->slope[row];
    to->length[row] = from->length[row];
    to->extra[row] = from->extra[row];
    to->amount[row] = share * from->amount[row];
    if (from->length[row] > 0) {
        const double last = to->x[to->order[from->length[row] - 1]];
        while (to->slope[row] > 0 && to->omega[row] - to->slope[row] * last < 0) {
            to->slope[row] = nextafter(to->slope[row], 0);
        }
    }
}

static nadir_status mix_perturbed(nadir_context *context, nadir_model *model, const nadir_perturbed *from,
                                  double share, nadir_kernel **mixed)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(nadir_kernel_create_blank(context, model, from->x != NULL, mixed));
    nadir_perturbed *to = nadir_kernel_perturbed(*mixed);
    for (int64_t row = 0; row < model->rows; row++) {
        const nadir_row nominal = nadir_model_row(model, row);
        const int64_t start = model->dense != NULL ? row * model->states : model->row_starts[row];
        to->nominal[row] = from->nominal[row];
        for (int64_t i = 0; i < nominal.count && !from->nominal[row]; i++) {
            to->values[start + i] = mix(nominal.values[i], share, from->values[start + i]);
        }
    }
    if (from->x != NULL) {
        memcpy(to->x, from->x, (size_t)model->states * sizeof *to->x);
        memcpy(to->order, from->order, (size_t)model->states * sizeof *to->order);
        for (int64_t row = 0; row < model->rows; row++) {
            shrink_line(from, row, share, to);
        }
    }
cleanup:
    return status;
}

nadir_status nadir_lagrangian_kernel_in_ball(nadir_context *context, const nadir_problem *problem,
                                             double beta, const nadir_lagrangian *lagrangian,
                                             nadir_kernel **start)
{
    const double distance = lagrangian->distance;
    const double share = distance > beta * WITHIN ? beta * WITHIN / distance : 1;
    const nadir_perturbed *perturbed = nadir_kernel_perturbed(lagrangian->kernel);
    return perturbed != NULL
               ? mix_perturbed(context, problem->model, perturbed, share, start)
               : nadir_kernel_mix(context, problem->model, problem->kernel, lagrangian->kernel, share, start);
}
