/*
 * bench_policy.c: what the robust policy costs: evaluations, and time against nominal policy iteration on the
 * same backend.
 *
 *     bench_policy [FILE...]
 *
 * FILEs: further models that bring their discount and rewards with them. One thread; times are the least of a
 * few runs.
 */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RUNS = 5 };

static void table_row(nadir_context *context, nadir_model *model, const char *name, nadir_domain domain,
                      double radius, const char *method)
{
    nadir_ball ball;
    nadir_robust_optimum_settings settings;
    nadir_robust_optimum_result least = {.seconds_nominal = INFINITY};
    nadir_ball_default(&ball);
    ball.set = NADIR_SET_NONRECT;
    ball.domain = domain;
    ball.norm = 2;
    ball.radius = &radius;
    ball.radius_count = 1;
    nadir_robust_optimum_settings_default(&settings);
    settings.method = method;
    for (int i = 0; i < RUNS; i++) {
        nadir_policy *policy = NULL;
        nadir_robust_optimum_result result = {.size = sizeof result};
        const nadir_status status =
            nadir_robust_optimum(context, model, &ball, &settings, &policy, &result, NULL, NULL);
        bench_check(context, status == NADIR_ERROR_NOT_CONVERGED ? NADIR_OK : status);
        const double nominal = fmin(result.seconds_nominal, least.seconds_nominal);
        const double search = i == 0 ? INFINITY : least.seconds_search;
        const double certify = i == 0 ? INFINITY : least.seconds_certify;
        least = result;
        least.seconds_nominal = nominal;
        least.seconds_search = fmin(search, result.seconds_search);
        least.seconds_certify = fmin(certify, result.seconds_certify);
        nadir_policy_free(policy);
    }
    const double scale = fmax(fabs(least.nominal_optimum), fabs(least.robust_return));
    (void)printf("| %s | %s | %g | %s | %lld | %.1e | %s | %.4f | %.1f | %.1f |\n", name,
                 domain == NADIR_DOMAIN_SIMPLEX ? "simplex" : "support", radius, least.method,
                 (long long)least.evaluations, (least.optimality_upper_bound - least.robust_return) / scale,
                 least.certified ? "yes" : "no", least.seconds_nominal,
                 least.seconds_search / least.seconds_nominal,
                 (least.seconds_search + least.seconds_certify) / least.seconds_nominal);
    (void)fflush(stdout);
}

static void head(const char *title)
{
    (void)printf(
        "### %s\n\n| model | domain | radius | method | evaluations | V*(P) - J, relative | certified | "
        "nominal PI, s | search / PI | with evaluation and proof / PI |\n"
        "|---|---|---:|---|---:|---:|---|---:|---:|---:|\n",
        title);
}

static void random_models(nadir_context *context)
{
    static const int64_t sizes[][2] = {{20, 4}, {60, 8}, {100, 10}, {300, 10}};
    static const double radii[] = {0.01, 0.1, 0.3, 0.5};
    for (int i = 0; i < 4; i++) {
        char name[64];
        nadir_generate_settings shape;
        nadir_model *model = NULL;
        nadir_generate_settings_default(&shape);
        shape.states = sizes[i][0];
        shape.actions = sizes[i][1];
        shape.discount = 0.9;
        shape.seed = 3;
        bench_check(context, nadir_model_generate(context, "random", &shape, &model));
        (void)snprintf(name, sizeof name, "random, S = %d, A = %d", (int)sizes[i][0], (int)sizes[i][1]);
        for (int j = 0; j < 4; j++) {
            table_row(context, model, name, NADIR_DOMAIN_SIMPLEX, radii[j], "auto");
        }
        nadir_model_free(model);
    }
}

static void both_domains(nadir_context *context, nadir_model *model, const char *name)
{
    static const double radii[] = {0.01, 0.1, 0.3};
    for (int domain = NADIR_DOMAIN_SIMPLEX; domain <= NADIR_DOMAIN_SUPPORT; domain++) {
        for (int j = 0; j < 3; j++) {
            table_row(context, model, name, (nadir_domain)domain, radii[j], "auto");
            table_row(context, model, name, (nadir_domain)domain, radii[j], "spectral");
        }
    }
    nadir_model_free(model);
}

int main(int count, char **words)
{
    static const char *const kinds[] = {"riverswim", "machine"};
    nadir_context *context = bench_context(1);
    head("The robust policy: random dense models");
    random_models(context);
    (void)printf("\n");
    head("The robust policy: small models");
    for (int i = 0; i < 2; i++) {
        nadir_model *model = NULL;
        bench_check(context, nadir_model_generate(context, kinds[i], NULL, &model));
        both_domains(context, model, kinds[i]);
    }
    for (int i = 1; i < count; i++) {
        nadir_model *model = NULL;
        const char *slash = strrchr(words[i], '/');
        bench_check(context, nadir_model_read(context, words[i], NULL, &model));
        both_domains(context, model, slash != NULL ? slash + 1 : words[i]);
    }
    nadir_context_free(context);
    return 0;
}
