/*
 * test_robust_optimum.c: the robust policy: known optima, the effort it takes, degenerate cases, limits,
 * files to go on from, and what may be called certified.
 */
#include "support/support.h"

#include "support/generated.h"
#include "support/golden.h"
#include "support/robust.h"
#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct answer {
    nadir_status status;
    nadir_policy *policy;
    nadir_robust_optimum_result result;
    nadir_robust evaluation;
    nadir_worst *worst;
} answer;

static answer ask(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                  const nadir_robust_optimum_settings *settings)
{
    answer made = {.result = {.size = sizeof made.result}, .evaluation = {.size = sizeof made.evaluation}};
    made.status = nadir_robust_optimum(context, model, ball, settings, &made.policy, &made.result,
                                       &made.evaluation, &made.worst);
    if (made.policy != NULL && made.evaluation.stop_reason != NULL) {
        const nadir_robust_optimum_result *result = &made.result;
        assert_that(result->lower_bound <= result->robust_return &&
                        result->robust_return <= result->optimality_upper_bound,
                    "%.17g is not between %.17g and %.17g", result->robust_return, result->lower_bound,
                    result->optimality_upper_bound);
        assert_true(result->optimality_gap == result->optimality_upper_bound - result->lower_bound);
        assert_true(result->robust_return == made.evaluation.robust_return);
        assert_true(!result->certified || made.evaluation.certified);
        assert_that(result->robust_return >=
                        result->initial_robust_return -
                            1e-6 * fabs(result->nominal_optimum - result->initial_robust_return),
                    "from %.17g down to %.17g", result->initial_robust_return, result->robust_return);
    }
    return made;
}

static void clear(answer *made)
{
    nadir_worst_free(made->worst);
    nadir_policy_free(made->policy);
}

static nadir_model *generate(nadir_context *context, const char *kind, int64_t states, int64_t actions,
                             uint64_t seed)
{
    nadir_model *model = NULL;
    nadir_generate_settings shape = test_generate_settings();
    if (states > 0) {
        shape.states = states;
        shape.actions = actions;
        shape.discount = 0.9;
        shape.seed = seed;
    }
    assert_ok(context, nadir_model_generate(context, kind, &shape, &model));
    return model;
}

/* Numbers from elsewhere: see golden.h. */
static void test_known_optima(void **state)
{
    static const struct {
        const char *kind; /* of a generated model; NULL: the golden one */
        double radius, optimum;
        int golden;
        nadir_domain domain;
    } rows[] = {
        {NULL, 0.15, 8.37853061376, 0, NADIR_DOMAIN_SIMPLEX},
        {NULL, 0.15, 8.37853061376, 0, NADIR_DOMAIN_SUPPORT},
        {NULL, 0.2, 18.2614785625, 1, NADIR_DOMAIN_SIMPLEX},
        {NULL, 0.2, 18.2614785625, 1, NADIR_DOMAIN_SUPPORT},
        {NULL, 0.16, 8.95792367936, 2, NADIR_DOMAIN_SIMPLEX},
        {NULL, 0.16, 8.98636124773, 2, NADIR_DOMAIN_SUPPORT},
        {"riverswim", 0.024, 8871.7986877, -1, NADIR_DOMAIN_SIMPLEX},
        {"riverswim", 0.024, 9729.75454498, -1, NADIR_DOMAIN_SUPPORT},
        {"machine", 0.059, -11.6123880326, -1, NADIR_DOMAIN_SIMPLEX},
        {"machine", 0.059, -10.0884851547, -1, NADIR_DOMAIN_SUPPORT},
    };
    static const char *const methods[] = {"auto", "spectral"};
    nadir_context *context = *state;
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nadir_model *model = rows[i].golden >= 0
                                 ? test_golden_model(context, &test_goldens[rows[i].golden], false)
                                 : test_frozen(context, generate(context, rows[i].kind, 0, 0, 0));
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, rows[i].domain, 2, &rows[i].radius, NULL);
        for (int j = 0; j < 2; j++) {
            test_note("row %d of the table, %s", (int)i, methods[j]);
            settings.method = methods[j];
            answer made = ask(context, model, &ball, &settings);
            assert_ok(context, made.status);
            assert_close(made.result.robust_return, rows[i].optimum, 1e-6);
            assert_true(made.result.certified);
            assert_close(made.result.optimality_upper_bound, rows[i].optimum, 2e-6);
            assert_true(made.result.evaluations <= 60);
            clear(&made);
        }
        nadir_model_free(model);
    }
}

static int by_size(const void *left, const void *right)
{
    return (*(const int *)left > *(const int *)right) - (*(const int *)left < *(const int *)right);
}

/* Random models: the bounds of the search meet within 60 evaluations, the median being far below. */
static void test_effort(void **state)
{
    enum { CASES = 24 };
    static const int64_t states[] = {20, 60, 100};
    static const int64_t actions[] = {4, 8, 10};
    static const double radii[] = {0.01, 0.03, 0.1, 0.2, 0.5};
    int evaluations[CASES] = {0};
    const int cases = test_often(CASES);
    nadir_context *context = *state;
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    for (int i = 0; i < cases; i++) {
        const int64_t size = test_memcheck() ? 10 : states[i % 3];
        nadir_model *model = generate(context, "random", size, actions[i / 3 % 3], 100 + (uint64_t)i);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radii[i % 5], NULL);
        test_note("case %d: %d states, radius %g", i, (int)size, radii[i % 5]);
        answer made = ask(context, model, &ball, &settings);
        assert_ok(context, made.status);
        assert_string_equal(made.result.stop_reason, "gap");
        const double gap = made.result.optimality_upper_bound - made.result.robust_return;
        assert_that(gap <= 1e-6 * made.result.nominal_optimum, "gap %g", gap);
        evaluations[i] = (int)made.result.evaluations;
        assert_that(evaluations[i] <= 60, "%d evaluations", evaluations[i]);
        clear(&made);
        nadir_model_free(model);
    }
    qsort(evaluations, (size_t)cases, sizeof *evaluations, by_size);
    assert_that(evaluations[cases / 2] <= 25, "median %d", evaluations[cases / 2]);
}

/* Radius 0, scales of 0: the nominal optimum. One action, equal rewards: nothing to choose. */
static void test_degenerate(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = generate(context, "machine", 0, 0, 0);
    const nadir_model_data data = test_view(model);
    double *zeros = calloc((size_t)data.rows, sizeof *zeros);
    const double radii[] = {0, 0.1};
    for (int i = 0; i < 2; i++) {
        for (int domain = NADIR_DOMAIN_SIMPLEX; domain <= NADIR_DOMAIN_FREE; domain++) {
            const nadir_ball ball =
                test_ball(NADIR_SET_NONRECT, (nadir_domain)domain, 2, &radii[i], i == 0 ? NULL : zeros);
            test_note("%s %s", i == 0 ? "radius 0" : "all pinned", nadir_domain_name((nadir_domain)domain));
            answer made = ask(context, model, &ball, NULL);
            assert_ok(context, made.status);
            assert_close(made.result.robust_return, -9.66788312962, 1e-9);
            assert_close(made.result.robust_return, made.result.nominal_optimum, 1e-9);
            assert_true(made.result.certified);
            assert_int_equal(made.result.stochastic_states, 0);
            clear(&made);
        }
    }
    double *rewards = calloc((size_t)data.rows, sizeof *rewards);
    for (int i = 0; i < 3; i++) { /* constant rewards: 0, 1, 1e9 */
        const double reward = i == 0 ? 0 : i == 1 ? 1 : 1e9;
        for (int64_t row = 0; row < data.rows; row++) {
            rewards[row] = reward;
        }
        nadir_model_data changed = data;
        changed.rewards = rewards;
        changed.transition_rewards = NULL;
        nadir_model *constant = test_create_model(context, &changed);
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radii[1], NULL);
        test_note("rewards %g", reward);
        answer made = ask(context, constant, &ball, NULL);
        assert_ok(context, made.status);
        assert_close(made.result.robust_return, reward / (1 - data.discount), 1e-12);
        assert_true(made.result.certified);
        clear(&made);
        nadir_model_free(constant);
    }
    nadir_model *single = generate(context, "random", 7, 1, 3);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radii[1], NULL);
    test_note("one action");
    nadir_policy *only = test_uniform_policy(context, single);
    answer made = ask(context, single, &ball, NULL);
    assert_ok(context, made.status);
    assert_close(made.result.robust_return, test_robust_return(context, single, only, &ball), 1e-9);
    assert_true(made.result.certified);
    clear(&made);
    test_note_clear();
    nadir_policy_free(only);
    nadir_model_free(single);
    nadir_model_free(model);
    free(zeros);
    free(rewards);
}

/* Where the worst kernel has negative entries there is no certificate: it is no decision process. */
static void test_free_domain(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = generate(context, "machine", 0, 0, 0);
    const double radius = 0.1;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    answer made = ask(context, model, &ball, NULL);
    assert_ok(context, made.status);
    assert_false(made.evaluation.kernel_valid);
    assert_false(made.result.certified);
    assert_string_equal(made.result.certificate, "none");
    assert_string_equal(made.result.stop_reason, "stationary");
    assert_true(made.result.optimality_upper_bound >= made.result.nominal_optimum * (1 + 1e-12));
    clear(&made);
    nadir_model_free(model);
}

/* Where occupancies turn negative the gradient turns too: the start makes no difference. A nominal optimum
 * that breaks down is no obstacle. */
static void test_free_far(void **state)
{
    static const double radii[] = {0.35, 0.5};
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    assert_ok(context, nadir_model_generate(context, "machine", NULL, &model));
    nadir_policy *uniform = test_uniform_policy(context, model);
    for (int i = 0; i < 2; i++) {
        const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radii[i], NULL);
        settings.start = NULL;
        answer near = ask(context, model, &ball, &settings);
        settings.start = uniform;
        answer far = ask(context, model, &ball, &settings);
        assert_ok(context, near.status);
        assert_ok(context, far.status);
        assert_true(near.result.iterations > 1);
        assert_close(near.result.robust_return, far.result.robust_return, 1e-7);
        clear(&near);
        clear(&far);
    }
    nadir_policy_free(uniform);
    nadir_model_free(model);
    const double radius = 0.2;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_FREE, 2, &radius, NULL);
    assert_ok(context, nadir_model_generate(context, "riverswim", NULL, &model));
    model = test_frozen(context, model);
    answer made = ask(context, model, &ball, NULL);
    assert_ok(context, made.status);
    /* The nominal optimum breaks down; the search begins with the uniform policy, at -11354, and ends at 50.3
       or, with products rounded otherwise (memcheck), at 47.7. */
    assert_true(made.result.robust_return > 47);
    clear(&made);
    nadir_model_free(model);
}

/*
 * State 0 has two equal actions, each to state 1, which earns 1 for ever; state 2 earns nothing for ever. At
 * p = 1 the adversary spends all it has on the row that is taken more often, so that the best policy takes
 * both equally; its worst return has a kink there, and no kernel that changes one row alone proves it best.
 */
static void test_tie(void **state)
{
    static const int64_t state_rows[] = {0, 2, 3, 4};
    static const double dense[] = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1};
    static const double rewards[] = {0, 0, 1, 0};
    static const double initial[] = {1, 0, 0};
    static const double scales[] = {1, 1, 0, 0};
    const double radius = 0.2;
    nadir_context *context = *state;
    nadir_model_data data = test_model_data();
    data.states = 3;
    data.rows = 4;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.dense = dense;
    data.rewards = rewards;
    data.initial = initial;
    data.scales = scales;
    nadir_model *model = test_create_model(context, &data);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 1, &radius, NULL);
    answer made = ask(context, model, &ball, NULL);
    assert_ok(context, made.status);
    /* gamma v(1) (1 - 0.1 / 2): 0.2 of p = 1 moves 0.1 of mass, and half the time it is not in the way */
    assert_close(made.result.robust_return, 0.9 * 10 * 0.95, 1e-6);
    assert_true(made.result.certified);
    assert_int_equal(made.result.stochastic_states, 1);
    clear(&made);
    nadir_model_free(model);
}

typedef struct watcher {
    int64_t stop_at;
    int64_t seen;
    double last;
} watcher;

static int watch(void *user, const nadir_robust_optimum_step *step)
{
    watcher *at = user;
    at->seen = step->iteration;
    at->last = step->robust_return;
    return at->stop_at >= 0 && step->iteration >= at->stop_at;
}

/* Limits and interruptions leave the best policy so far; from a checkpoint the search goes on as if nothing
 * had been, to rounding. first: the first step that can be watched. */
static void go_on(nadir_context *context, nadir_model *model, nadir_set set, int64_t first)
{
    const double radius = 0.5;
    const nadir_ball ball = test_ball(set, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    answer whole = ask(context, model, &ball, &settings);
    assert_ok(context, whole.status);
    assert_string_equal(whole.result.stop_reason, "gap");
    assert_true(whole.result.iterations > 2);
    for (int64_t stop = first; stop < whole.result.iterations; stop++) {
        watcher at = {.stop_at = stop};
        nadir_robust_optimum_settings parts = settings;
        parts.watch = watch;
        parts.watch_user = &at;
        parts.checkpoint = "half.ckp";
        test_note("%s, stopped at step %d", test_ball_name(&ball), (int)stop);
        answer half = ask(context, model, &ball, &parts);
        assert_int_equal(half.status, NADIR_ERROR_INTERRUPTED);
        assert_non_null(half.policy);
        assert_string_equal(half.result.stop_reason, "interrupted");
        assert_close(half.result.robust_return, at.last, 1e-2);
        clear(&half);
        settings.resume = "half.ckp";
        answer rest = ask(context, model, &ball, &settings);
        assert_ok(context, rest.status);
        assert_close(rest.result.robust_return, whole.result.robust_return, 1e-13);
        assert_int_equal(rest.result.evaluations, whole.result.evaluations);
        assert_true(rest.result.initial_robust_return == whole.result.initial_robust_return);
        clear(&rest);
        settings.resume = NULL;
    }
    settings.evaluations_limit = 2;
    answer few = ask(context, model, &ball, &settings);
    assert_int_equal(few.status, NADIR_ERROR_NOT_CONVERGED);
    assert_string_equal(few.result.stop_reason, "evaluations");
    assert_int_equal(few.result.evaluations, 2);
    assert_true(few.result.robust_return <= whole.result.robust_return * (1 + 1e-6));
    assert_true(few.result.optimality_upper_bound >= whole.result.robust_return);
    clear(&few);
    settings.evaluations_limit = 100;
    settings.time_limit = 0;
    answer none = ask(context, model, &ball, &settings);
    assert_int_equal(none.status, NADIR_ERROR_NOT_CONVERGED);
    assert_string_equal(none.result.stop_reason, "time");
    assert_true(none.result.robust_return <= whole.result.robust_return * (1 + 1e-6));
    clear(&none);
    clear(&whole);
}

static void test_going_on(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = generate(context, "random", 12, 5, 9);
    go_on(context, model, NADIR_SET_NONRECT, 0);
    go_on(context, model, NADIR_SET_S, 1);
    go_on(context, model, NADIR_SET_SA, 1);
    test_note_clear();
    nadir_model_free(model);
}

/* `certified` is what was asked for, whatever the gap. */
static void test_gaps(void **state)
{
    static const double gaps[] = {0.5, 1e-4, 1e-6, 1e-9, 1e-12};
    const double radius = 0.3;
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_context *context = *state;
    nadir_model *model = NULL;
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    assert_ok(context, nadir_model_generate(context, "machine", NULL, &model));
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        settings.gap = gaps[i];
        test_note("gap %g", gaps[i]);
        answer made = ask(context, model, &ball, &settings);
        assert_ok(context, made.status);
        const double scale = fmax(fabs(made.result.nominal_optimum), fabs(made.result.robust_return));
        assert_true(made.result.certified || gaps[i] < 1e-9);
        assert_true(!made.result.certified || made.result.optimality_gap <= 1.0001 * gaps[i] * scale);
        clear(&made);
    }
    test_note_clear();
    nadir_model_free(model);
}

/* of: the set. */
static nadir_status optimise(nadir_context *context, const void *of)
{
    const double radius = 0.1;
    const nadir_ball ball = test_ball(*(const nadir_set *)of, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_model *model = NULL;
    nadir_policy *policy = NULL;
    nadir_worst *worst = NULL;
    nadir_robust_optimum_result result = {.size = sizeof result};
    nadir_robust evaluation = {.size = sizeof evaluation};
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.certify = NADIR_CERTIFY_OFF; /* proofs have their own test */
    settings.checkpoint = ball.set == NADIR_SET_S ? "scarce.ckp" : NULL;
    nadir_status status = nadir_model_generate(context, "machine", NULL, &model);
    if (status == NADIR_OK) {
        status =
            nadir_robust_optimum(context, model, &ball, &settings, &policy, &result, &evaluation, &worst);
    }
    nadir_worst_free(worst);
    nadir_policy_free(policy);
    nadir_model_free(model);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    test_run_out(optimise, &(nadir_set){NADIR_SET_S}, NULL, "set s");
    if (!test_memcheck()) {
        test_run_out_sampled(optimise, &(nadir_set){NADIR_SET_NONRECT}, NULL, "one ball", 2000);
    }
    assert_int_equal(test_count_files(".scarce.ckp"), 0);
}

/* A checkpoint with a changed byte, cut off, or of another question is refused. */
static void test_wrong_checkpoints(void **state)
{
    const double radii[] = {0.5, 0.4};
    nadir_context *context = *state;
    nadir_model *model = generate(context, "random", 6, 3, 9);
    nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radii[0], NULL);
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    settings.certify = NADIR_CERTIFY_OFF;
    settings.checkpoint = "whole.ckp";
    settings.evaluations_limit = 2;
    answer made = ask(context, model, &ball, &settings);
    clear(&made);
    settings.checkpoint = NULL;
    settings.evaluations_limit = 100;
    FILE *file = fopen("whole.ckp", "rb");
    assert_non_null(file);
    static unsigned char bytes[1 << 16];
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    settings.resume = "changed.ckp";
    for (size_t at = 0; at < size; at += test_memcheck() ? 997 : 37) {
        for (int cut = 0; cut < 2; cut++) {
            file = fopen("changed.ckp", "wb");
            bytes[at] ^= cut ? 0 : 4;
            assert_int_equal(fwrite(bytes, 1, cut ? at : size, file), cut ? at : size);
            bytes[at] ^= cut ? 0 : 4;
            assert_int_equal(fclose(file), 0);
            test_note("byte %d %s", (int)at, cut ? "is the first that is missing" : "is changed");
            answer wrong = ask(context, model, &ball, &settings);
            assert_int_equal(wrong.status, NADIR_ERROR_FORMAT);
            assert_null(wrong.policy);
        }
    }
    settings.resume = "whole.ckp";
    ball.radius = &radii[1];
    answer other = ask(context, model, &ball, &settings);
    assert_int_equal(other.status, NADIR_ERROR_FORMAT);
    assert_non_null(strstr(nadir_context_error(context), "another model, ball or method"));
    settings.resume = "nosuch.ckp";
    other = ask(context, model, &ball, &settings);
    assert_int_equal(other.status, NADIR_ERROR_FILE);
    test_note_clear();
    nadir_model_free(model);
}

/* The paper's own climbs too, and from a policy of the caller's. */
static void test_paper(void **state)
{
    const double radius = 0.3;
    nadir_context *context = *state;
    nadir_model *model = test_frozen(context, generate(context, "machine", 0, 0, 0));
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    nadir_robust_optimum_settings settings = test_robust_optimum_settings();
    nadir_policy *uniform = test_uniform_policy(context, model);
    settings.method = "paper";
    settings.start = uniform;
    settings.evaluations_limit = test_often(1000);
    settings.certify = NADIR_CERTIFY_OFF;
    answer made = ask(context, model, &ball, &settings);
    assert_true(made.status == NADIR_OK || made.status == NADIR_ERROR_NOT_CONVERGED);
    assert_close(made.result.initial_robust_return, test_robust_return(context, model, uniform, &ball), 1e-3);
    assert_true(made.result.robust_return > made.result.initial_robust_return + 1);
    assert_true(made.result.robust_return < -18.98281 &&
                (test_memcheck() || made.result.robust_return > -19.05));
    clear(&made);
    nadir_policy_free(uniform);
    nadir_model_free(model);
}

static void test_wrong_questions(void **state)
{
    const double radius = 0.1;
    nadir_context *context = *state;
    nadir_model *model = generate(context, "machine", 0, 0, 0);
    const nadir_ball ball = test_ball(NADIR_SET_NONRECT, NADIR_DOMAIN_SIMPLEX, 2, &radius, NULL);
    static const struct {
        const char *method;
        double gap, step, time;
        int64_t limit;
        const char *words;
        nadir_status status;
    } rows[] = {
        {"fast", 1e-6, 0, 1, 10, "there is no method fast", NADIR_ERROR_ARGUMENT},
        {"bellman", 1e-6, 0, 1, 10, "rectangular sets", NADIR_ERROR_UNSUPPORTED},
        {"auto", 0, 0, 1, 10, "the gap is 0", NADIR_ERROR_ARGUMENT},
        {"auto", NAN, 0, 1, 10, "the gap is", NADIR_ERROR_ARGUMENT},
        {"auto", 1e-6, -1, 1, 10, "the step is -1", NADIR_ERROR_ARGUMENT},
        {"auto", 1e-6, 0, -1, 10, "that of time -1", NADIR_ERROR_ARGUMENT},
        {"auto", 1e-6, 0, 1, 0, "the limit of evaluations 0", NADIR_ERROR_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nadir_robust_optimum_settings settings = test_robust_optimum_settings();
        settings.method = rows[i].method;
        settings.gap = rows[i].gap;
        settings.step = rows[i].step;
        settings.time_limit = rows[i].time;
        settings.evaluations_limit = rows[i].limit;
        answer made = ask(context, model, &ball, &settings);
        test_note("row %d of the table: %s", (int)i, nadir_context_error(context));
        assert_int_equal(made.status, rows[i].status);
        assert_null(made.policy);
        assert_non_null(strstr(nadir_context_error(context), rows[i].words));
    }
    test_note_clear();
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_known_optima), test_with_context(test_effort),
        test_with_context(test_degenerate),   test_with_context(test_free_domain),
        test_with_context(test_free_far),     test_with_context(test_tie),
        test_with_context(test_going_on),     test_with_context(test_wrong_checkpoints),
        test_with_context(test_gaps),         cmocka_unit_test(test_memory),
        test_with_context(test_paper),        test_with_context(test_wrong_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
