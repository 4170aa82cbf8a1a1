/* policy.c: options of commands that solve: policy, backend, method. */
#include "cli.h"

#include <string.h>
#include <unistd.h>

cli_option cli_policy_option(const char **policy)
{
    return (cli_option){"--policy",
                        CLI_TEXT,
                        "POLICY",
                        NULL,
                        policy,
                        "a file (.csv or .npy), uniform, or optimal: the best one for the\n"
                        "nominal kernel (a file of such a name: ./uniform)"};
}

cli_option cli_policies_option(cli_list *policies)
{
    return (cli_option){"--policy",
                        CLI_LIST,
                        "POLICY",
                        NULL,
                        policies,
                        "a file (.csv or .npy), uniform, or optimal: the best one for the\n"
                        "nominal kernel (a file of such a name: ./uniform); given again: one\n"
                        "more policy, up to 64"};
}

cli_option cli_backend_option(const char **backend)
{
    return (cli_option){"--backend",
                        CLI_NAME,
                        NULL,
                        "auto|lapack|klu|krylov|petsc|device-lu|device-krylov",
                        backend,
                        "who solves the linear systems: dense LU, sparse LU, an iteration,\n"
                        "PETSc's (with --engine petsc), or dense LU and an iteration on the\n"
                        "device (with --engine cuda) (default: auto, by size and sparsity)"};
}

const char *cli_policy_file(const char *policy)
{
    return strcmp(policy, "uniform") == 0 || strcmp(policy, "optimal") == 0 ? NULL : policy;
}

nadir_status cli_policy_get(cli_run *run, nadir_model *model, const char *policy, const char *backend,
                            nadir_policy **made)
{
    if (strcmp(policy, "uniform") == 0) {
        return nadir_policy_create_uniform(run->context, model, made);
    }
    if (strcmp(policy, "optimal") == 0) {
        nadir_optimum_settings settings;
        nadir_optimum_settings_default(&settings);
        settings.backend = backend;
        nadir_optimum_result result = {.size = sizeof result};
        return nadir_optimum(run->context, model, &settings, made, &result);
    }
    const nadir_status status = nadir_policy_read(run->context, model, policy, made);
    if (status != NADIR_OK && access(policy, F_OK) != 0) {
        static const char *const names[] = {"uniform", "optimal"};
        const char *nearest = cli_options_nearest(policy, strlen(policy), 2, names);
        return cli_fail(run, status, "--policy: '%s' is neither a file nor uniform or optimal%s%s%s", policy,
                        nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "?" : "");
    }
    return status;
}

/* Appends text to a buffer, as far as it fits. */
static void append(char *buffer, size_t size, const char *text)
{
    const size_t used = strlen(buffer);
    (void)snprintf(buffer + used, size - used, "%s", text);
}

void cli_methods_list(cli_methods *methods, const char *introduction)
{
    const char *name;
    methods->choices[0] = '\0';
    methods->help[0] = '\0';
    append(methods->help, sizeof methods->help, introduction);
    for (int64_t i = 0; (name = nadir_method_name(i)) != NULL; i++) {
        append(methods->choices, sizeof methods->choices, i > 0 ? "|" : "");
        append(methods->choices, sizeof methods->choices, name);
        append(methods->help, sizeof methods->help, "\n");
        append(methods->help, sizeof methods->help, name);
        append(methods->help, sizeof methods->help, ": ");
        append(methods->help, sizeof methods->help, nadir_method_summary(i));
    }
}

cli_option cli_method_option(cli_methods *methods, const char **method)
{
    cli_methods_list(methods, "how the worst kernel is found (default: auto); most are for the free,\n"
                              "non-rectangular ball with norm 2 alone (docs/methods.md):");
    return (cli_option){"--method", CLI_NAME, "NAME", methods->choices, method, methods->help};
}
