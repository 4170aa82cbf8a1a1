/*
 * result_files.c: the public verification: reads the files of an evaluation, checks that they are as they were
 * written and speak of this model, this policy and one ball, then has kernel and witness checked (verify.h).
 *
 * A kernel that another program wrote need not store its digest: nothing is promised of its bytes. One of ours
 * names its model, so that neither a damaged digest nor a damaged name makes it such a kernel.
 */
#include "io/result_files.h"
#include "io/format.h"
#include "io/npz.h"
#include "proof/verify.h"
#include "robust/evaluation.h"

#include <math.h>
#include <string.h>

static void judge_digest(nadir_verify_run *run, const char *name, const char *what,
                         const nadir_stored_digest *stored)
{
    if (stored->holds) {
        nadir_verify_add(run, name, true, "the %s file is, to the byte, as it was written", what);
    } else {
        nadir_verify_add(run, name, false, "the %s file %s", what,
                         stored->found
                             ? "was changed after it was written: its digest is not that of its bytes"
                             : "does not end with the digest of its bytes");
    }
}

static nadir_status check_stored_digests(nadir_verify_run *run, const nadir_verify_settings *settings)
{
    nadir_stored_digest kernel;
    nadir_stored_digest witness;
    const char *expected = run->witness.kernel_sha256;
    NADIR_TRY(nadir_file_digest_check(run->context, settings->kernel, &nadir_npz_digest_form, &kernel));
    if (kernel.found || run->ball.model_sha256[0] != '\0') {
        judge_digest(run, "kernel_file", "kernel", &kernel);
    }
    if (run->has_witness) {
        NADIR_TRY(
            nadir_file_digest_check(run->context, settings->witness, &nadir_witness_digest_form, &witness));
        judge_digest(run, "witness_file", "witness", &witness);
    }
    if (run->has_witness && expected[0] != '\0') {
        const bool same = strcmp(expected, kernel.file_digest) == 0;
        nadir_verify_add(run, "kernel_of_witness", same, "the witness was written for %s kernel file",
                         same ? "this" : "another");
    }
    return NADIR_OK;
}

/* One digest against what the kernel file and the witness say, as far as they do. */
static void compare(nadir_verify_run *run, const char *name, const char *what, const char *found,
                    const char *of_kernel, const char *of_witness, const char *hint)
{
    const bool by_kernel = of_kernel[0] == '\0' || strcmp(of_kernel, found) == 0;
    const bool by_witness = of_witness[0] == '\0' || strcmp(of_witness, found) == 0;
    if (of_kernel[0] == '\0' && of_witness[0] == '\0') {
        return;
    }
    if (by_kernel && by_witness) {
        nadir_verify_add(run, name, true, "%s is the one of the evaluation", what);
    } else {
        nadir_verify_add(
            run, name, false, "%s is another than that of the %s (sha256 %.16s..., not %.16s...)%s", what,
            by_kernel ? "witness" : "kernel file", found, by_kernel ? of_witness : of_kernel, hint);
    }
}

static nadir_status check_digests(nadir_verify_run *run, const nadir_verify_settings *settings)
{
    char digest[65];
    const nadir_kernel_parameters *kernel = &run->ball;
    const nadir_witness *witness = &run->witness; /* of zeros where there is none */
    NADIR_TRY(nadir_model_digest(run->context, run->model, digest));
    compare(
        run, "model", "the model", digest, kernel->model_sha256, witness->model_sha256,
        "; discount, initial distribution, costs, frozen rewards and what successors without a reward pay "
        "must be given as they were then");
    NADIR_TRY(nadir_policy_digest(run->context, run->policy, digest));
    compare(run, "policy", "the policy", digest, kernel->policy_sha256, witness->policy_sha256, "");
    if (settings->model_file != NULL) {
        NADIR_TRY(nadir_file_digest(run->context, settings->model_file, digest));
        compare(run, "model_file", "the model's file", digest, kernel->model_file_sha256,
                witness->model_file_sha256, "");
    }
    if (settings->policy_file != NULL) {
        NADIR_TRY(nadir_file_digest(run->context, settings->policy_file, digest));
        compare(run, "policy_file", "the policy's file", digest, kernel->policy_file_sha256,
                witness->policy_file_sha256, "");
    }
    return NADIR_OK;
}

/* Whether both say the same, as far as both say anything. */
static const char *find_difference(const nadir_kernel_parameters *kernel, const nadir_witness *witness)
{
    if (kernel->set != NADIR_SET_UNSAID && kernel->set != witness->set) {
        return "set";
    }
    if (kernel->domain != NADIR_DOMAIN_UNSAID && kernel->domain != witness->domain) {
        return "domain";
    }
    if (!isnan(kernel->norm) && kernel->norm != witness->norm) {
        return "norm";
    }
    if (kernel->radius != NULL && (kernel->radius_count != witness->radius_count ||
                                   memcmp(kernel->radius, witness->radius,
                                          (size_t)kernel->radius_count * sizeof *kernel->radius) != 0)) {
        return "radius";
    }
    return kernel->optimistic != witness->optimistic ? "case (worst or best)" : NULL;
}

static void check_ball(nadir_verify_run *run)
{
    const double gamma = run->ball.gamma;
    if (run->has_witness) {
        const char *difference = find_difference(&run->ball, &run->witness);
        nadir_verify_add(run, "ball", difference == NULL, "kernel file and witness are about %s%s",
                         difference == NULL ? "the same ball" : "balls of another ",
                         difference == NULL ? "" : difference);
    }
    if (!isnan(gamma) && gamma != run->model->discount) {
        nadir_verify_add(run, "discount", false, "the discount is %.17g; in the kernel file it is %.17g",
                         run->model->discount, gamma);
    }
}

/* Kernel and witness into the run, which owns them from then on. */
static nadir_status read_files(nadir_verify_run *run, const nadir_verify_settings *settings)
{
    NADIR_TRY(nadir_kernel_file_read(run->context, run->model, settings->kernel, &run->kernel, &run->ball));
    if (settings->witness != NULL) {
        NADIR_TRY(nadir_witness_read(run->context, run->model, settings->witness, &run->witness));
        run->has_witness = true;
    }
    return NADIR_OK;
}

void nadir_verify_settings_fill(nadir_verify_settings *settings, size_t size)
{
    const nadir_verify_settings made = {0};
    nadir_settings_give(settings, size, &made, sizeof made);
}

nadir_status nadir_verify(nadir_context *context, nadir_model *model, const nadir_policy *policy,
                          const nadir_verify_settings *settings, nadir_verify_result *result,
                          nadir_verification **verification)
{
    nadir_status status = NADIR_OK;
    nadir_verify_run run;
    nadir_verify_settings use = {0};
    if (!nadir_settings_copy(&use, sizeof use, settings) || use.kernel == NULL) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the size of the settings, or the kernel file, is not set");
    }
    NADIR_CHECK(nadir_verify_start(context, model, policy, use.backend, &run));
    NADIR_CHECK(read_files(&run, &use));
    NADIR_CHECK(check_stored_digests(&run, &use));
    NADIR_CHECK(check_digests(&run, &use));
    check_ball(&run);
    NADIR_CHECK(nadir_verify_prove(&run));
    NADIR_CHECK(nadir_verify_conclude(&run, result, verification));
cleanup:
    nadir_verify_clear(&run);
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------------------- */

/* The worst kernel that an evaluation found, and the witness of its bounds. */

nadir_status nadir_worst_set_files(nadir_context *context, nadir_worst *worst, const char *model,
                                   const char *policy, const char *kernel)
{
    if (context->communication->rank != 0) { /* process 0 writes */
        return NADIR_OK;
    }
    if (model != NULL) {
        NADIR_TRY(nadir_file_digest(context, model, worst->model_file_sha256));
    }
    if (policy != NULL) {
        NADIR_TRY(nadir_file_digest(context, policy, worst->policy_file_sha256));
    }
    if (kernel != NULL) {
        NADIR_TRY(nadir_file_digest(context, kernel, worst->kernel_sha256));
    }
    return NADIR_OK;
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
    nadir_witness witness;
    NADIR_TRY(nadir_worst_witness(context, worst, &witness));
    return nadir_witness_write(context, worst->model, &witness, path);
}
