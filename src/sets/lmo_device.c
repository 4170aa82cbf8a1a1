/* lmo_device.c: the linear minimisation oracle on a device; see lmo_device.h. */
#include "sets/lmo.h"

#include "model/kernel_device.h"
#include "sets/lmo_internal.h"

/* The host handles fewer entries in the time of a few calls to the device. */
#define LEAST_ENTRIES 65536
#define LEAST_DENSE   1048576
/* Dense kernels that a search holds at a time, and one more. */
#define KERNELS 4

/* Whether the model is large enough for a device, and not distributed. */
static bool is_large(const nadir_model *model)
{
    return model->exchange == NULL &&
           (model->dense == NULL ? model->nonzeros >= LEAST_ENTRIES
                                 : model->rows >= (LEAST_DENSE - 1) / model->states + 1);
}

static bool has_memory(const nadir_context *context, const nadir_model *model)
{
    double taken;
    double left;
    context->device->memory(context->device_self, &taken, &left);
    return model->dense == NULL || KERNELS * 8.0 * (double)model->rows * (double)model->states <= left;
}

nadir_status nadir_lmo_device_open(nadir_context *context, const nadir_lmo *lmo, nadir_device_budget shares,
                                   double gamma, const double *probabilities, nadir_lmo_device *remote)
{
    const nadir_device *device = context->device;
    const nadir_device_ball ball = {.gamma = gamma,
                                    .p = lmo->p,
                                    .simplex = lmo->domain == NADIR_DOMAIN_SIMPLEX,
                                    .shares = shares,
                                    .probabilities = probabilities,
                                    .scales = lmo->scales};
    void *model_rows = NULL;
    *remote = (nadir_lmo_device){
        .device = device, .model = lmo->model, .p = lmo->p, .off_support = nadir_lmo_has_tail(lmo)};
    if (device == NULL || !is_large(lmo->model) || !has_memory(context, lmo->model)) {
        return NADIR_OK;
    }
    nadir_status status = nadir_kernel_device_rows(context, lmo->model, &model_rows);
    if (status == NADIR_OK) {
        status = device->lmo_create(model_rows, context, &ball, &remote->step);
    }
    return status == NADIR_ERROR_MEMORY ? NADIR_OK : status;
}

void nadir_lmo_device_close(nadir_lmo_device *remote)
{
    if (remote->step != NULL) {
        remote->device->lmo_free(remote->step);
        remote->step = NULL;
    }
}

nadir_status nadir_lmo_device_solve(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_value_order *order, const double *d, double beta,
                                    nadir_lmo_budget *budget, bool *found)
{
    nadir_status status = NADIR_OK;
    nadir_device_lmo_result answer = {0};
    *found = false;
    if (order->range > 0) {
        NADIR_CHECK(
            remote->device->lmo_solve(remote->step, context, beta * NADIR_LMO_INSIDE, order->x, d, &answer));
    }
    *found = answer.found;
    if (*found) {
        *budget = (nadir_lmo_budget){
            .tau = order->range * answer.unit * answer.tau,
            .step =
                answer.step / (remote->p <= 2 ? answer.unit : nadir_power(answer.unit, 1 / (remote->p - 1))),
            .gain = answer.gain * order->range,
            .norm = answer.norm,
        };
    }
    NADIR_CHECK(nadir_progress(context, "solving row problems", -1));
cleanup:
    return status;
}

nadir_status nadir_lmo_device_gains(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_value_order *order, double *gains)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(remote->device->lmo_gains(remote->step, context, gains));
    for (int64_t s = 0; s < remote->model->states; s++) {
        gains[s] *= order->range;
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_device_kernel(nadir_context *context, const nadir_lmo_device *remote,
                                     nadir_kernel **kernel)
{
    nadir_status status = NADIR_OK;
    nadir_kernel *made = NULL;
    void *numbers = NULL;
    nadir_perturbed *perturbed = *kernel != NULL ? nadir_kernel_perturbed(*kernel) : NULL;
    if (perturbed == NULL || (perturbed->x != NULL) != remote->off_support) {
        NADIR_CHECK(nadir_kernel_create_blank(context, remote->model, remote->off_support, &made));
        nadir_kernel_free(*kernel);
        *kernel = made;
    }
    NADIR_CHECK(remote->device->lmo_kernel(remote->step, context, &numbers));
    nadir_kernel_device_adopt(context, *kernel, numbers);
    if (!nadir_kernel_device_averages(context, *kernel)) {
        NADIR_CHECK(nadir_kernel_device_fetch(context, *kernel));
    }
cleanup:
    return status;
}

nadir_status nadir_lmo_device_slack(nadir_context *context, const nadir_lmo_device *remote,
                                    const nadir_kernel *kernel, double range, double tau, double *slack,
                                    bool *done)
{
    const void *numbers = remote->step != NULL ? nadir_kernel_device_values(kernel) : NULL;
    *done = numbers != NULL && remote->p == 2;
    return *done ? remote->device->lmo_slack(remote->step, context, numbers, range, tau, slack) : NADIR_OK;
}

nadir_status nadir_lmo_device_centred(nadir_context *context, const nadir_lmo_device *remote, const double *y,
                                      const double *z, double *sums)
{
    return remote->device->lmo_centred_product(remote->step, context, y, z, sums);
}
