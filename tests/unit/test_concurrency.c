/*
 * test_concurrency.c: many threads, each with contexts of its own, read, evaluate, optimise, fit, verify and
 * write at the same time, and each gets the very bits that one thread alone gets. Models and policies are
 * shared. Also the program that ThreadSanitizer watches (`make tsan`).
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/reference.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 8, TRACE_MOST = 1 << 16 };

/* What a task found, byte after byte. Assertions are for the main thread alone. */
typedef struct trace {
    size_t count;
    unsigned char bytes[TRACE_MOST];
} trace;

static void note_bytes(trace *found, const void *bytes, size_t count)
{
    if (found->count + count <= TRACE_MOST) {
        memcpy(found->bytes + found->count, bytes, count);
    }
    found->count += count;
}

static void note_number(trace *found, double number)
{
    note_bytes(found, &number, sizeof number);
}

static void note_status(trace *found, nadir_context *context, nadir_status status)
{
    const char *text = status != NADIR_OK ? nadir_context_error(context) : "";
    note_bytes(found, &status, sizeof status);
    note_bytes(found, text, strlen(text));
}

static void note_file(trace *found, nadir_context *context, const char *path)
{
    char digest[65] = "";
    note_status(found, context, nadir_file_digest(context, path, digest));
    note_bytes(found, digest, sizeof digest);
}

static void note_robust(trace *found, const nadir_robust *result)
{
    const double numbers[] = {result->nominal_return, result->robust_return, result->penalty,
                              result->lower_bound,    result->upper_bound,   result->kappa,
                              result->kernel_minimum, result->residual,      (double)result->iterations,
                              (double)result->solves, result->certified};
    note_bytes(found, numbers, sizeof numbers);
}

/* Of all threads. */
static nadir_model *shared_model;
static nadir_policy *shared_policy;
static nadir_model *sparse_model;
static nadir_policy *sparse_policy;

/* A thread at work: its context, and a place for its files. */
typedef struct desk {
    nadir_context *context;
    int number;
    trace found;
} desk;

static const char *path_of(const desk *at, const char *name, char path[64])
{
    snprintf(path, 64, "desk%d_%s", at->number, name);
    return path;
}

static nadir_ball ball_of(nadir_set set, nadir_domain domain, double p, const double *radius)
{
    nadir_ball ball;
    nadir_ball_default(&ball);
    ball.set = set;
    ball.domain = domain;
    ball.norm = p;
    ball.radius = radius;
    ball.radius_count = 1;
    return ball;
}

/* Evaluates the policy of a shared model, or of a copy of it, notes numbers and kernel, writes kernel and
 * witness. */
static void evaluate(desk *at, nadir_model *model, const nadir_ball *ball, const char *backend,
                     nadir_certify certify)
{
    nadir_context *context = at->context;
    char path[64];
    nadir_solver_settings solving = test_solver_settings();
    solving.backend = backend;
    nadir_robust_settings settings = test_robust_settings();
    settings.certify = certify;
    nadir_robust result = {.size = sizeof result};
    nadir_solver *solver = NULL;
    nadir_worst *worst = NULL;
    const nadir_policy *policy = model == sparse_model ? sparse_policy : shared_policy;
    nadir_status status = nadir_solver_create(context, model, policy, &solving, &solver);
    status =
        status == NADIR_OK ? nadir_solver_robust(context, solver, ball, &settings, &result, &worst) : status;
    note_status(&at->found, context, status);
    if (status == NADIR_OK) {
        note_robust(&at->found, &result);
        note_status(&at->found, context, nadir_worst_write(context, worst, path_of(at, "kernel.npz", path)));
        note_file(&at->found, context, path);
        note_status(&at->found, context,
                    nadir_worst_write_witness(context, worst, path_of(at, "witness.json", path)));
        note_file(&at->found, context, path);
    }
    nadir_worst_free(worst);
    nadir_solver_free(solver);
}

/* The shared model from this file. */
static nadir_model *read_model(desk *at, const char *path)
{
    nadir_read_settings settings;
    nadir_read_settings_default(&settings);
    settings.discount = 0.9;
    nadir_model *model = NULL;
    note_status(&at->found, at->context, nadir_model_read(at->context, path, &settings, &model));
    return model;
}

static void task_read_and_evaluate(desk *at)
{
    static const double radius = 0.05;
    static const char *const files[] = {"shared.csv", "shared.npz", "shared.drn", "shared.MDP"};
    const nadir_ball ball = ball_of(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        nadir_model *model = read_model(at, files[i]);
        if (model != NULL) {
            evaluate(at, model, &ball, "lapack", NADIR_CERTIFY_AUTO);
        }
        nadir_model_free(model);
    }
}

static void task_sets(desk *at)
{
    static const double radius = 0.02;
    static const double norms[] = {1, 2, 1.5, INFINITY};
    int count = 0;
    for (int set = NADIR_SET_NONRECT; set <= NADIR_SET_SA; set++) {
        for (int domain = NADIR_DOMAIN_SIMPLEX; domain <= NADIR_DOMAIN_FREE; domain++) {
            const nadir_ball ball = ball_of((nadir_set)set, (nadir_domain)domain, norms[count % 4], &radius);
            evaluate(at, sparse_model, &ball, count % 2 == 0 ? "klu" : "krylov", NADIR_CERTIFY_AUTO);
            evaluate(at, shared_model, &ball, "lapack", NADIR_CERTIFY_OFF);
            count++;
        }
    }
}

static void task_strict(desk *at)
{
    static const double radius = 0.05;
    const nadir_ball ball = ball_of(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius);
    evaluate(at, shared_model, &ball, "lapack", NADIR_CERTIFY_STRICT);
}

static void optimise(desk *at, nadir_set set)
{
    static const double radius = 0.05;
    char path[64];
    const nadir_ball ball = ball_of(set, NADIR_DOMAIN_SIMPLEX, 2, &radius);
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    char checkpoint[64];
    settings.checkpoint = path_of(at, "checkpoint.json", checkpoint);
    settings.checkpoint_seconds = 0;
    settings.gap = 1e-4;
    settings.evaluations_limit = 30;
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_policy *policy = NULL;
    const nadir_status status =
        nadir_robust_optimum(at->context, shared_model, &ball, &settings, &policy, &result, NULL, NULL);
    note_status(&at->found, at->context, status);
    if (policy != NULL) {
        note_number(&at->found, result.lower_bound);
        note_number(&at->found, result.optimality_upper_bound);
        note_number(&at->found, (double)result.evaluations);
        note_status(&at->found, at->context,
                    nadir_policy_write(at->context, shared_model, policy, path_of(at, "policy.csv", path)));
        note_file(&at->found, at->context, path);
    }
    nadir_policy_free(policy);
}

static void task_optimise(desk *at)
{
    optimise(at, NADIR_SET_NONRECT);
    optimise(at, NADIR_SET_SA);
}

static void task_write(desk *at)
{
    static const char *const names[] = {"out.csv", "out.npz", "out.drn", "out.MDP", "out.tra"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        note_status(&at->found, at->context,
                    nadir_model_write(at->context, shared_model, path_of(at, names[i], path), NULL));
        note_file(&at->found, at->context, path);
    }
}

static void task_fit(desk *at)
{
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.9;
    settings.samples = test_memcheck() ? 150 : 500;
    nadir_fit_result result = {.size = sizeof result};
    nadir_fit *fit = NULL;
    nadir_model *model = NULL;
    nadir_status status = nadir_fit_read(at->context, "log.csv", &settings, &fit);
    status = status == NADIR_OK ? nadir_fit_model(at->context, fit, NULL, &result, &model) : status;
    note_status(&at->found, at->context, status);
    if (status == NADIR_OK) {
        char digest[65];
        note_status(&at->found, at->context, nadir_model_digest(at->context, model, digest));
        note_bytes(&at->found, digest, sizeof digest);
        for (int i = 0; i < 3; i++) {
            note_number(&at->found, result.sets[i].radius);
            note_number(&at->found, result.sets[i].lower_bound);
        }
    }
    nadir_model_free(model);
    nadir_fit_free(fit);
}

/* Kernel and witness of an evaluation, checked; then those of nobody. */
static void task_verify(desk *at)
{
    static const double radius = 0.02;
    char kernel[64];
    char witness[64];
    const nadir_ball ball = ball_of(NADIR_SET_NONRECT, NADIR_DOMAIN_SUPPORT, 2, &radius);
    evaluate(at, shared_model, &ball, NULL, NADIR_CERTIFY_AUTO);
    nadir_verify_settings settings;
    nadir_verify_settings_default(&settings);
    settings.kernel = path_of(at, "kernel.npz", kernel);
    settings.witness = path_of(at, "witness.json", witness);
    for (int i = 0; i < 2; i++) {
        nadir_verify_result result = {.size = sizeof result};
        nadir_verification *verification = NULL;
        const nadir_status status =
            nadir_verify(at->context, shared_model, shared_policy, &settings, &result, &verification);
        note_status(&at->found, at->context, status);
        note_number(&at->found, status == NADIR_OK ? result.bound_proven : 0);
        nadir_verification_free(verification);
        settings.kernel = "nobody.npz";
    }
}

static void task_radii(desk *at)
{
    static const double one = 1;
    static const double factors[] = {0.01, 0.02, 0.05, 0.1};
    enum { COUNT = sizeof factors / sizeof *factors };
    nadir_context *context = at->context;
    const nadir_ball ball = ball_of(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &one);
    nadir_solver *solver = NULL;
    nadir_robust results[COUNT];
    nadir_radius radius = {.size = sizeof radius};
    for (int i = 0; i < COUNT; i++) {
        results[i] = (nadir_robust){.size = sizeof results[i]};
    }
    nadir_status status = nadir_solver_create(context, shared_model, shared_policy, NULL, &solver);
    status = status == NADIR_OK
                 ? nadir_solver_robust_many(context, solver, &ball, NULL, COUNT, factors, results)
                 : status;
    note_status(&at->found, context, status);
    for (int i = 0; i < COUNT && status == NADIR_OK; i++) {
        note_robust(&at->found, &results[i]);
    }
    if (status == NADIR_OK) {
        status = nadir_solver_radius(context, solver, &ball, NULL, results[2].robust_return, &radius);
        note_status(&at->found, context, status);
        note_number(&at->found, radius.radius_lower);
        note_number(&at->found, radius.radius_upper);
    }
    nadir_solver_free(solver);
}

typedef void task(desk *at);
static task *const tasks[] = {task_read_and_evaluate,
                              task_sets,
                              task_strict,
                              task_optimise,
                              task_write,
                              task_fit,
                              task_verify,
                              task_radii};
enum { TASKS = sizeof tasks / sizeof *tasks };

/* One task in a context of its own. */
static void perform(int number, int task_number, int threads, trace *found)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.threads = threads;
    desk *at = test_new(1, sizeof *at);
    at->number = number;
    if (nadir_context_create(&settings, &at->context) == NADIR_OK) {
        tasks[task_number](at);
        note_number(&at->found, (double)nadir_context_memory(at->context));
    }
    nadir_context_free(at->context);
    *found = at->found;
    free(at);
}

typedef struct worker {
    pthread_t thread;
    int number;
    int threads;
    trace found[TASKS];
} worker;

/* All tasks, each worker beginning with another one. */
static void *work(void *user)
{
    worker *self = user;
    for (int i = 0; i < TASKS; i++) {
        const int next = (i + self->number) % TASKS;
        perform(self->number, next, self->threads, &self->found[next]);
    }
    return NULL;
}

static void prepare(nadir_context *context)
{
    static const char *const files[] = {"shared.csv", "shared.npz", "shared.drn", "shared.MDP"};
    nadir_generate_settings settings = test_generate_settings();
    settings.states = test_memcheck() ? 12 : 100;
    settings.actions = 4;
    settings.seed = 5;
    settings.discount = 0.9;
    shared_model = test_generate(context, "random", &settings);
    assert_ok(context, nadir_policy_create_uniform(context, shared_model, &shared_policy));
    settings.states = test_memcheck() ? 12 : 50;
    sparse_model = test_generate(context, "garnet", &settings);
    assert_ok(context, nadir_policy_create_uniform(context, sparse_model, &sparse_policy));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_ok(context, nadir_model_write(context, shared_model, files[i], NULL));
    }
    test_write_file("log.csv",
                    "idstatefrom,idaction,idstateto,reward,count\n0,0,0,1,6\n0,0,1,3,2\n0,1,2,0,4\n"
                    "1,0,1,2,10\n1,0,0,2,10\n1,0,2,2,20\n1,1,0,-1,1\n2,0,2,5,30\n2,0,1,5,3\n");
}

static void test_same_bits(void **state)
{
    nadir_context *context = *state;
    trace *alone = test_new(2 * TASKS, sizeof *alone);
    worker *workers = test_new(WORKERS, sizeof *workers);
    prepare(context);
    for (int i = 0; i < 2 * TASKS; i++) {
        perform(WORKERS, i % TASKS, 1 + i / TASKS, &alone[i]);
        assert_true(alone[i].count > 0 && alone[i].count <= TRACE_MOST);
    }
    for (int i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        workers[i].threads = 1 + i % 2;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    for (int i = 0; i < WORKERS * TASKS; i++) {
        const trace *found = &workers[i / TASKS].found[i % TASKS];
        const trace *expected = &alone[(workers[i / TASKS].threads - 1) * TASKS + i % TASKS];
        test_note("thread %d, task %d", i / TASKS, i % TASKS);
        assert_int_equal(found->count, expected->count);
        assert_memory_equal(found->bytes, expected->bytes, expected->count);
    }
    nadir_policy_free(sparse_policy);
    nadir_policy_free(shared_policy);
    nadir_model_free(sparse_model);
    nadir_model_free(shared_model);
    free(workers);
    free(alone);
}

/* Models are retained, looked at and freed by all threads at once; the last one to go frees them, from
 * whichever context. */
static void *own_and_leave(void *user)
{
    nadir_model *model = user;
    for (int i = 0; i < 200; i++) {
        nadir_model *own = nadir_model_retain(model);
        nadir_context *context = NULL;
        if (nadir_context_create(NULL, &context) == NADIR_OK) {
            char digest[65];
            nadir_model_digest(context, own, digest);
            nadir_context_free(context);
        }
        nadir_model_free(own);
    }
    nadir_model_free(model);
    return NULL;
}

static void test_owners(void **state)
{
    nadir_context *context = test_context();
    nadir_model *model = test_generate(context, "riverswim", NULL);
    pthread_t threads[WORKERS];
    (void)state;
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, own_and_leave, nadir_model_retain(model)), 0);
    }
    nadir_context_free(context);
    nadir_model_free(model);
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_same_bits),
        cmocka_unit_test(test_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
