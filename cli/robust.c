/* robust.c: the answer of a robust evaluation; see robust.h. */
#include "robust.h"

void cli_robust_json(cli_json *json, const nadir_robust *robust)
{
    cli_json_double(json, "nominal_return", robust->nominal_return);
    cli_json_double(json, "robust_return", robust->robust_return);
    cli_json_double(json, "penalty", robust->penalty);
    cli_json_double(json, "lower_bound", robust->lower_bound);
    cli_json_double(json, "upper_bound", robust->upper_bound);
    cli_json_double(json, "gap", robust->upper_bound - robust->lower_bound);
    cli_json_bool(json, "certified", robust->certified);
    cli_json_text(json, "certificate", robust->certificate);
    cli_json_text(json, "bound", robust->bound);
    cli_json_double(json, "kappa", robust->kappa);
    cli_json_double(json, "stationarity_gap", robust->stationarity_gap);
    cli_json_text(json, "set", nadir_set_name(robust->set));
    cli_json_norm(json, "norm", robust->norm);
    cli_json_double(json, "radius", robust->radius);
    cli_json_text(json, "domain", nadir_domain_name(robust->domain));
    cli_json_text(json, "method", robust->method);
    cli_json_text(json, "stop_reason", robust->stop_reason);
    cli_json_integer(json, "iterations", robust->iterations);
    cli_json_integer(json, "solves", robust->solves);
    cli_json_double(json, "breakdown_radius", robust->breakdown_radius);
    cli_json_double(json, "valid_radius", robust->valid_radius);
    cli_json_double(json, "kernel_min", robust->kernel_minimum);
    cli_json_bool(json, "kernel_valid", robust->kernel_valid);
    cli_json_double(json, "residual", robust->residual);
    cli_json_double(json, "return_difference", robust->return_difference);
    cli_json_text(json, "backend", robust->backend);
    cli_json_integer(json, "backend_bytes", robust->backend_memory);
}

nadir_status cli_worst_write(cli_run *run, nadir_worst *worst, const char *model, const char *policy,
                             const char *kernel, const char *witness)
{
    nadir_context *context = run->context;
    nadir_status status = NADIR_OK;
    if (kernel != NULL || witness != NULL) {
        status = nadir_worst_set_files(context, worst, model, policy, NULL);
    }
    if (status == NADIR_OK && kernel != NULL) {
        status = nadir_worst_write(context, worst, kernel);
    }
    if (status == NADIR_OK && witness != NULL) { /* it names the kernel that it is about */
        status = nadir_worst_set_files(context, worst, NULL, NULL, kernel);
    }
    if (status == NADIR_OK && witness != NULL) {
        status = nadir_worst_write_witness(context, worst, witness);
    }
    return status;
}
