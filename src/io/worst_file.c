/* worst_file.c: the worst kernel that an evaluation found, and the witness of its bounds, to files. */
#include "io/format.h"
#include "io/result_files.h"
#include "robust/worst.h"

#include <string.h>

nadir_status nadir_worst_set_files(nadir_context *context, nadir_worst *worst, const char *model,
                                   const char *policy, const char *kernel)
{
    nadir_status status = NADIR_OK;
    if (context->communication->rank != 0) { /* process 0 writes */
        return NADIR_OK;
    }
    if (model != NULL) {
        NADIR_CHECK(nadir_file_digest(context, model, worst->model_file_sha256));
    }
    if (policy != NULL) {
        NADIR_CHECK(nadir_file_digest(context, policy, worst->policy_file_sha256));
    }
    if (kernel != NULL) {
        NADIR_CHECK(nadir_file_digest(context, kernel, worst->kernel_sha256));
    }
cleanup:
    return status;
}

nadir_status nadir_worst_write(nadir_context *context, const nadir_worst *worst, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_kernel_parameters parameters;
    nadir_model *model = NULL;
    const char *format = NULL;
    NADIR_CHECK(nadir_write_format(context, path, &format));
    if (strcmp(format, "npz") == 0) {
        NADIR_CHECK(nadir_worst_parameters(context, worst, &parameters));
        NADIR_CHECK(nadir_kernel_file_write(context, nadir_worst_kernel(worst), &parameters, path));
    } else {
        NADIR_CHECK(nadir_worst_model(context, worst, &model));
        NADIR_CHECK(nadir_model_write(context, model, path, NULL));
    }
cleanup:
    nadir_model_free(model);
    return status;
}

nadir_status nadir_worst_write_witness(nadir_context *context, const nadir_worst *worst, const char *path)
{
    nadir_status status = NADIR_OK;
    nadir_witness witness;
    NADIR_CHECK(nadir_worst_witness(context, worst, &witness));
    NADIR_CHECK(nadir_witness_write(context, worst->model, &witness, path));
cleanup:
    return status;
}
