/* test_scarce_evaluation.c: memory runs out after k allocations, through robust evaluation by every backend,
 * of every set, domain and kind of norm, and all that is done with the kernel found; and through the search
 * for the robust policy, with its checkpoints. NADIR_FAULTS=all: for every k. */
#include "support/support.h"

#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const backends[] = {"lapack", "klu", "krylov"};
static const nadir_set sets[] = {NADIR_SET_NONRECT, NADIR_SET_S, NADIR_SET_SA};
static const nadir_domain domains[] = {NADIR_DOMAIN_SIMPLEX, NADIR_DOMAIN_SUPPORT, NADIR_DOMAIN_FREE};
static const double norms[] = {1, 1.5, 2, INFINITY};
enum { BACKENDS = 3, SETS = 3, DOMAINS = 3, NORMS = 4 };

/* What is asked; the model is not of the context whose memory runs out. */
typedef struct question {
    nadir_model *model;
    const nadir_policy *policy;
    const char *backend;
    nadir_ball ball;
    bool use; /* the kernel found, too */
} question;

static nadir_status use_kernel(nadir_context *context, nadir_worst *worst, const question *of)
{
    const nadir_model_data view = test_view(of->model);
    double gradient[64];
    assert_in_range(view.rows, 1, 64);
    nadir_damage damages[4];
    for (int i = 0; i < 4; i++) {
        damages[i] = (nadir_damage){.size = sizeof damages[i]};
    }
    int64_t found;
    int64_t changed;
    double penalty;
    nadir_status status = nadir_worst_write(context, worst, "kernel.npz");
    if (status == NADIR_OK) {
        status = nadir_worst_set_files(context, worst, NULL, NULL, "kernel.npz");
    }
    if (status == NADIR_OK) {
        status = nadir_worst_write_witness(context, worst, "witness.json");
    }
    if (status == NADIR_OK) {
        status = nadir_worst_explain(context, worst, 4, damages, &found, &changed, &penalty);
    }
    if (status == NADIR_OK) {
        status = nadir_worst_gradient(context, worst, gradient);
    }
    return status;
}

static nadir_status evaluate(nadir_context *context, const void *user)
{
    const question *of = user;
    nadir_solver *solver = NULL;
    nadir_worst *worst = NULL;
    nadir_solver_settings settings = test_solver_settings();
    settings.backend = of->backend;
    nadir_robust result = {.size = sizeof result};
    nadir_status status = nadir_solver_create(context, of->model, of->policy, &settings, &solver);
    if (status == NADIR_OK) {
        status = nadir_solver_robust(context, solver, &of->ball, NULL, &result, &worst);
    }
    if (status == NADIR_OK && of->use) {
        status = use_kernel(context, worst, of);
    }
    nadir_worst_free(worst);
    nadir_solver_free(solver);
    return status;
}

static void test_evaluation(void **state)
{
    static const double radius = 0.002;
    const int64_t most = getenv("NADIR_VALGRIND") != NULL ? 1 : 6;
    nadir_context *context = *state;
    question of = {0};
    assert_ok(context, nadir_model_generate(context, "machine", NULL, &of.model));
    nadir_policy *policy = test_uniform_policy(context, of.model);
    of.policy = policy;
    nadir_ball_default(&of.ball);
    of.ball.radius = &radius;
    of.ball.radius_count = 1;
    int64_t failures = 0;
    for (int i = 0; i < BACKENDS * SETS * DOMAINS * NORMS; i++) {
        char what[128];
        of.backend = backends[i % BACKENDS];
        of.ball.set = sets[i / BACKENDS % SETS];
        of.ball.domain = domains[i / BACKENDS / SETS % DOMAINS];
        of.ball.norm = norms[i / BACKENDS / SETS / DOMAINS];
        of.use = i % BACKENDS == 0 && of.ball.norm == 2; /* files that are synced take their time */
        (void)snprintf(what, sizeof what, "%s, set %s, domain %s, norm %g", of.backend,
                       nadir_set_name(of.ball.set), nadir_domain_name(of.ball.domain), of.ball.norm);
        failures += test_run_out_sampled(evaluate, &of, "kernel.npz.", what, most);
    }
    print_message("memory ran out %lld times, none lost\n", (long long)failures);
    nadir_policy_free(policy);
    nadir_model_free(of.model);
}

static nadir_status optimise(nadir_context *context, const void *user)
{
    const question *of = user;
    nadir_policy *policy = NULL;
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    settings.checkpoint = "run.ckpt";
    settings.checkpoint_seconds = 0;
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_status status =
        nadir_robust_optimum(context, of->model, &of->ball, &settings, &policy, &result, NULL, NULL);
    if (status == NADIR_OK && access("run.ckpt", R_OK) == 0) {
        nadir_policy_free(policy);
        policy = NULL;
        settings.resume = "run.ckpt";
        status = nadir_robust_optimum(context, of->model, &of->ball, &settings, &policy, &result, NULL, NULL);
    }
    if (status == NADIR_OK) {
        status = nadir_policy_write(context, of->model, policy, "found.npy");
    }
    nadir_policy_free(policy);
    (void)unlink("run.ckpt");
    return status;
}

static void test_optimum(void **state)
{
    static const double radius = 0.5;
    const int64_t most = getenv("NADIR_VALGRIND") != NULL ? 3 : 20;
    nadir_context *context = *state;
    question of = {0};
    nadir_generate_settings settings = test_generate_settings();
    settings.states = 6;
    settings.actions = 3;
    settings.branch = 6;
    assert_ok(context, nadir_model_generate(context, "garnet", &settings, &of.model));
    nadir_ball_default(&of.ball);
    of.ball.radius = &radius;
    of.ball.radius_count = 1;
    int64_t failures = 0;
    for (int i = 0; i < SETS; i++) {
        of.ball.set = sets[i];
        failures += test_run_out_sampled(optimise, &of, "run.ckpt", nadir_set_name(sets[i]), most);
    }
    print_message("memory ran out %lld times, none lost\n", (long long)failures);
    nadir_model_free(of.model);
}

static nadir_status nominal(nadir_context *context, const void *user)
{
    const question *of = user;
    nadir_policy *policy = NULL;
    char digest[65];
    double radius;
    const char *format;
    nadir_optimum_result result = {.size = sizeof result};
    nadir_status status = nadir_optimum(context, of->model, NULL, &policy, &result);
    if (status == NADIR_OK) {
        status = nadir_policy_digest(context, policy, digest);
    }
    if (status == NADIR_OK) {
        status = nadir_model_digest(context, of->model, digest);
    }
    if (status == NADIR_OK) {
        status = nadir_policy_write(context, of->model, policy, "policy.csv");
    }
    if (status == NADIR_OK) {
        status = nadir_file_format(context, "policy.csv", &format);
        status = status == NADIR_ERROR_FORMAT ? NADIR_OK : status;
    }
    if (status == NADIR_OK) {
        status = nadir_model_valid_radius(context, of->model, 2, &radius);
    }
    nadir_policy_free(policy);
    return status;
}

static void test_nominal(void **state)
{
    nadir_context *context = *state;
    question of = {0};
    assert_ok(context, nadir_model_generate(context, "machine", NULL, &of.model));
    test_run_out(nominal, &of, "policy.csv.", "the nominal optimum");
    nadir_model_free(of.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_evaluation),
        test_with_context(test_optimum),
        test_with_context(test_nominal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
