/* test_fit_model.c: models from data: means, rewards, initial distribution, scales against their formula,
 * rows without data, lists of successors, posterior samples, degenerate data, wrong settings, scarce memory.
 */
#include "support/support.h"

#include "fit/fit.h"
#include "support/scarce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three states, two actions; row (2, 1) is never visited. */
static const char log_text[] = "idstatefrom,idaction,idstateto,reward,count\n"
                               "0,0,0,1,6\n0,0,1,3,2\n"
                               "0,1,2,0,4\n"
                               "1,0,1,2,10\n1,0,0,2,10\n1,0,2,2,20\n"
                               "1,1,0,-1,1\n"
                               "2,0,2,5,30\n2,0,1,5,3\n";

typedef struct fitted {
    nadir_fit *fit;
    nadir_model *model;
    nadir_fit_result result;
    nadir_model_data view;
} fitted;

static nadir_status try_fit(nadir_context *context, const char *path, const nadir_fit_settings *settings,
                            fitted *made)
{
    *made = (fitted){.result.size = sizeof made->result};
    nadir_status status = nadir_fit_read(context, path, settings, &made->fit);
    if (status == NADIR_OK) {
        status = nadir_fit_model(context, made->fit, NULL, &made->result, &made->model);
    }
    if (status == NADIR_OK) {
        nadir_model_data_default(&made->view);
        nadir_model_view(made->model, &made->view);
    }
    return status;
}

static void clear(fitted *made)
{
    nadir_model_free(made->model);
    nadir_fit_free(made->fit);
}

static nadir_fit_settings quick(void)
{
    nadir_fit_settings settings;
    nadir_fit_settings_default(&settings);
    settings.discount = 0.9;
    settings.guarantee = "kernel";
    settings.samples = test_memcheck() ? 150 : 500;
    return settings;
}

static double scale_of(const fitted *made, int64_t row)
{
    return made->view.scales != NULL ? made->view.scales[row] : 1;
}

/* Transitions pay the mean that was seen with them. Landing on 1 pays 2 more than on 0, on 2 as much: what was
 * not seen follows. Rows without data pay the least that was seen. */
static void test_landing_rewards(void **state)
{
    static const char text[] = "idstatefrom,idaction,idstateto,reward,count\n"
                               "0,0,0,1,5\n0,0,1,2,2\n0,0,1,4,2\n"
                               "0,1,2,0,4\n0,1,1,2,4\n"
                               "1,0,2,7,10\n1,0,0,7,10\n"
                               "2,1,1,-1,3\n2,1,0,-3,1\n";
    const struct {
        nadir_unseen unseen;
        double discount, at_0_0_2, at_1_0_1;
    } cases[] = {{NADIR_UNSEEN_ADDITIVE, 0.9, 1, 9},
                 {NADIR_UNSEEN_ADDITIVE, 0, 1, 9},
                 {NADIR_UNSEEN_ROW, 0.9, 17.0 / 9, 7},
                 {NADIR_UNSEEN_MIN, 0.9, -3, -3},
                 {NADIR_UNSEEN_VALUE, 0.9, 0.5, 0.5}};
    nadir_context *context = *state;
    nadir_fit_settings settings = quick();
    settings.unseen_value = 0.5;
    test_write_file("log.csv", text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nadir_fit *fit = NULL;
        settings.unseen = cases[i].unseen;
        settings.discount = cases[i].discount;
        assert_ok(context, nadir_fit_read(context, "log.csv", &settings, &fit));
        const nadir_model *model = nadir_fit_nominal(fit);
        const nadir_model_data view = test_view(model);
        const double *r = view.transition_rewards;
        assert_non_null(view.dense);
        assert_close(r[0], 1, 1e-15);
        assert_close(r[1], 3, 1e-15);
        assert_close(r[2], cases[i].at_0_0_2, 1e-13);
        assert_close(r[2 * 3 + 1], cases[i].at_1_0_1, 1e-13);
        for (int row = 3; row < 5; row++) { /* (1, 1) and (2, 0) */
            assert_true(r[row * 3] == -3 && r[row * 3 + 1] == -3 && r[row * 3 + 2] == -3);
        }
        const double mean = view.dense[0] * r[0] + view.dense[1] * r[1] + view.dense[2] * r[2];
        assert_close(view.rewards[0], mean, 1e-14);
        nadir_fit_free(fit);
    }
    /* the same reward for all transitions of a row is that of the row, whatever sums were rounded to */
    nadir_fit *fit = NULL;
    settings.unseen = NADIR_UNSEEN_ADDITIVE;
    test_write_file("log.csv",
                    "idstatefrom,idaction,idstateto,reward,count\n0,0,0,0.1,3\n0,0,1,0.1,7\n1,0,0,0.3,9\n");
    assert_ok(context, nadir_fit_read(context, "log.csv", &settings, &fit));
    assert_null(test_view(nadir_fit_nominal(fit)).transition_rewards);
    nadir_fit_free(fit);
}

/* What is done leads to one state that stays, pays nothing and is known; names go into every model. */
static void test_terminal(void **state)
{
    nadir_context *context = *state;
    nadir_fit_settings settings = quick();
    fitted made;
    test_write_file("log.csv", "state,action,next_state,reward,done\n"
                               "in,go,in,-3,0\nin,go,in,-3,0\nin,go,in,-3,0\nin,go,,-3,1\n"
                               "in,wait,in,-1,0\nin,wait,in,-1,0\n");
    for (int k = 0; k < 2; k++) {
        settings.guarantee = k == 0 ? "kernel" : "return";
        settings.unvisited = k == 0 ? "uniform" : NULL;
        assert_ok(context, try_fit(context, "log.csv", &settings, &made));
        assert_int_equal(made.view.states, 2);
        assert_int_equal(made.view.rows, 3);
        assert_string_equal(nadir_model_state_name(made.model, 0), "in");
        assert_string_equal(nadir_model_state_name(made.model, 1), "terminal");
        assert_string_equal(nadir_model_action_name(made.model, 1), "wait");
        assert_true(made.result.terminal && made.result.rows_visited == 2);
        assert_true(scale_of(&made, 2) == 0);
        const nadir_row last = nadir_model_row(made.model, 2);
        for (int64_t i = 0; i < last.count; i++) {
            assert_true(last.values[i] == (nadir_row_column(&last, i) == 1 ? 1 : 0));
        }
        assert_true(made.view.rewards[2] == 0);
        assert_true(made.view.initial[0] == 1 && made.view.initial[1] == 0);
        /* J = -3 / (1 - 0.9 m), m = (3 + 1) / (4 + 2) the mean of staying */
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        nadir_nominal nominal = {.size = sizeof nominal};
        const double go[] = {1, 0, 1};
        assert_ok(context, nadir_policy_create(context, made.model, go, &policy));
        assert_ok(context, nadir_solver_create(context, made.model, policy, NULL, &solver));
        assert_ok(context, nadir_solver_nominal(context, solver, &nominal));
        assert_close(nominal.nominal_return, -3 / (1 - 0.9 * 4 / 6), 1e-12);
        nadir_solver_free(solver);
        nadir_policy_free(policy);
        clear(&made);
    }
    /* lists of what is possible name the same states, and nothing of the terminal one */
    settings = quick();
    settings.successors = "list.csv";
    test_write_file("list.csv", "state,action,next_state\nin,go,in\nin,go,terminal\nin,wait,in\n");
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_int_equal(made.result.rows_known, 2);
    clear(&made);
    test_write_file("list.csv", "state,action,next_state\nin,go,in\nin,go,out\n");
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_FORMAT,
                 "list.csv:3: `next_state` is `out`, which the data do not have");
    test_write_file("list.csv", "state,action,next_state\nin,go,in\nterminal,wait,in\n");
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_FORMAT,
                 "state 1 is terminal, and has transitions here");
}

/* (n + 2/3) / (N + 2), mean rewards, the least of them where there are none, and a ball that evaluates. */
static void test_nominal(void **state)
{
    nadir_context *context = *state;
    nadir_fit_settings settings = quick();
    fitted made;
    settings.frozen_rewards = true;
    test_write_file("log.csv", log_text);
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_null(made.view.transition_rewards);
    assert_int_equal(made.view.states, 3);
    assert_int_equal(made.view.rows, 6);
    assert_close(test_probability(made.model, 0, 0), (6 + 2.0 / 3) / 10, 1e-15);
    assert_close(test_probability(made.model, 0, 2), (2.0 / 3) / 10, 1e-15);
    assert_close(test_probability(made.model, 1, 2), (4 + 2.0 / 3) / 6, 1e-15);
    assert_close(test_probability(made.model, 5, 1), 1.0 / 3, 1e-15);
    assert_close(made.view.rewards[0], 1.5, 1e-15);
    assert_close(made.view.rewards[5], -1, 1e-15);
    assert_close(made.view.initial[1], 1.0 / 3, 1e-15);
    assert_true(made.view.set == NADIR_SET_NONRECT && made.view.domain == NADIR_DOMAIN_SIMPLEX);
    assert_true(made.view.norm == 2 && made.view.radius_count == 1 && made.view.radius[0] > 0);
    assert_true(made.view.radius[0] == made.result.sets[0].radius);
    assert_int_equal(made.result.rows_visited, 5);
    assert_int_equal(made.result.rows_known, 0);
    assert_close(made.result.total, 86, 0);
    assert_close(made.result.visits_median, 8, 0);
    assert_int_equal(made.result.candidates_count, 4);
    for (int i = 0; i < 3; i++) {
        const nadir_fit_guarantee *guarantee = &made.result.sets[i];
        assert_true(guarantee->lower_bound <= guarantee->robust_return * (1 + 1e-9));
        assert_true(guarantee->robust_return < made.result.nominal_return);
    }
    for (int64_t i = 0; i < 4; i++) { /* auto has taken the best of them */
        assert_true(made.result.candidates[i].lower_bound <= made.result.sets[0].lower_bound);
    }
    clear(&made);

    settings.concentration = 1;
    settings.costs = true;
    settings.initial = "2";
    settings.ragged = true;
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_int_equal(made.view.rows, 5);
    assert_close(test_probability(made.model, 0, 0), 7.0 / 11, 1e-15);
    assert_close(made.view.rewards[0], -1.5, 1e-15);
    assert_close(made.view.initial[2], 1, 0);
    clear(&made);
}

/* alpha ~ q^(1/4), q the exact posterior variance; with a policy: over the root of d(s) pi(a|s), not below a
 * hundredth of its mean. Mean 1. */
static void test_scales(void **state)
{
    nadir_context *context = *state;
    nadir_fit_settings settings = quick();
    fitted made;
    test_write_file("log.csv", log_text);
    settings.ragged = true; /* without the row that was never visited */
    for (int occupancy = 0; occupancy < 2; occupancy++) {
        double expected[5];
        double x[5];
        double d[3];
        double sum = 0;
        double mean = 0;
        nadir_policy *policy = NULL;
        nadir_solver *solver = NULL;
        settings.scales = occupancy ? "occupancy" : "deviation";
        assert_ok(context, try_fit(context, "log.csv", &settings, &made));
        nadir_model *nominal = nadir_fit_nominal(made.fit);
        nadir_optimum_result optimum = {.size = sizeof optimum};
        assert_ok(context, nadir_optimum(context, nominal, NULL, &policy, &optimum));
        assert_ok(context, nadir_solver_create(context, nominal, policy, NULL, &solver));
        assert_ok(context, nadir_solver_occupancy(context, solver, d));
        static const int states[5] = {0, 0, 1, 1, 2};
        static const double visits[5] = {8, 4, 40, 1, 33};
        for (int row = 0; row < 5; row++) {
            x[row] = occupancy ? d[states[row]] * nadir_policy_probabilities(policy)[row] : 1;
            mean += x[row] / 5;
        }
        for (int row = 0; row < 5; row++) {
            double square = 0;
            for (int t = 0; t < 3; t++) {
                square += pow(test_probability(nominal, row, t), 2);
            }
            expected[row] = pow((1 - square) / (visits[row] + 3), 0.25) / sqrt(fmax(x[row] / mean, 0.01));
            sum += expected[row];
        }
        for (int row = 0; row < 5; row++) {
            assert_close(scale_of(&made, row), 5 * expected[row] / sum, 1e-12);
        }
        assert_int_equal(made.result.candidates_count, 1);
        nadir_solver_free(solver);
        nadir_policy_free(policy);
        clear(&made);
    }
}

/* uniform: uncertain, as far as can be; pin: uniform with scale 0; absorb: stays, scale 0. */
static void test_unvisited(void **state)
{
    nadir_context *context = *state;
    nadir_fit_settings settings = quick();
    fitted made;
    test_write_file("log.csv", log_text);
    settings.unvisited = "pin";
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_true(made.view.scales[5] == 0);
    assert_close(test_probability(made.model, 5, 0), 1.0 / 3, 1e-15);
    assert_int_equal(made.result.rows_known, 1);
    const double pinned = made.result.sets[0].lower_bound;
    clear(&made);
    settings.unvisited = "absorb";
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_true(made.view.scales[5] == 0);
    assert_close(test_probability(made.model, 5, 2), 1, 0);
    clear(&made);
    settings.unvisited = "uniform";
    settings.scales = "ones";
    settings.set = NADIR_SET_SA;
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_int_equal(made.view.radius_count, 6);
    assert_close(made.view.radius[5], sqrt(2.0 / 3), 1e-12);
    assert_true(made.result.sets[0].radius > sqrt(2.0 / 3)); /* one more row that may be anywhere */
    assert_true(made.result.sets[0].lower_bound < pinned);
    clear(&made);
}

/* Those seen, or listed: the domain is support, and no others have a probability. */
static void test_successors(void **state)
{
    nadir_context *context = *state;
    nadir_fit_settings settings = quick();
    fitted made;
    test_write_file("log.csv", log_text);
    settings.successors = "seen";
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_true(made.view.domain == NADIR_DOMAIN_SUPPORT);
    assert_close(test_probability(made.model, 0, 0), 7.0 / 10, 1e-15);
    assert_true(test_probability(made.model, 0, 2) == 0);
    assert_close(test_probability(made.model, 1, 2), 1, 0);
    assert_true(made.view.scales[1] == 0 && made.view.scales[3] == 0); /* one successor: known */
    assert_close(test_probability(made.model, 5, 1), 1.0 / 3, 1e-15);
    clear(&made);

    test_write_file("list.csv", "state,action,next_state\n0,0,0\n0,0,1\n0,1,2\n0,1,0\n1,0,0\n1,0,1\n1,0,2\n"
                                "1,1,0\n2,0,1\n2,0,2\n2,1,0\n2,1,2\n");
    settings.successors = "list.csv";
    assert_ok(context, try_fit(context, "log.csv", &settings, &made));
    assert_true(made.view.domain == NADIR_DOMAIN_SUPPORT);
    assert_close(test_probability(made.model, 1, 0), 1.0 / 6, 1e-15);
    assert_close(test_probability(made.model, 1, 2), 5.0 / 6, 1e-15);
    assert_close(test_probability(made.model, 5, 0), 0.5, 1e-15);
    assert_true(test_probability(made.model, 5, 1) == 0);
    assert_int_equal(made.result.rows_known, 1);
    clear(&made);

    test_write_file("short.csv", "state,action,next_state\n0,0,0\n0,1,2\n1,0,0\n1,0,1\n1,0,2\n1,1,0\n2,0,2\n"
                                 "2,1,0\n");
    settings.successors = "short.csv";
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_MODEL,
                 "state 0, action 0: the data have successor 1, which is not among those allowed");
    clear(&made);
    settings.successors = "nowhere.csv";
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_FILE, "nowhere.csv");
    clear(&made);
}

/* Kernels of a posterior: their mean, and the share of them that was asked for in the ball. */
static void test_samples(void **state)
{
    enum { OUTCOMES = 99 };
    nadir_context *context = *state;
    nadir_fit_settings settings = quick();
    double p[OUTCOMES];
    fitted made;
    FILE *file = fopen("samples.csv", "w");
    assert_non_null(file);
    (void)fputs("idoutcome,idstatefrom,idaction,idstateto,probability,reward\n", file);
    double mean = 0;
    for (int k = 0; k < OUTCOMES; k++) {
        p[k] = 0.3 + 0.004 * ((k * 37) % OUTCOMES - 49);
        mean += p[k] / OUTCOMES;
        (void)fprintf(file, "%d,0,0,0,%.17g,1\n%d,0,0,1,%.17g,1\n", k, p[k], k, 1 - p[k]);
        (void)fprintf(file, "%d,1,0,0,1,0\n", k);
    }
    (void)fclose(file);
    settings.confidence = 0.8;
    settings.scales = "ones";
    assert_ok(context, try_fit(context, "samples.csv", &settings, &made));
    assert_close(test_probability(made.model, 0, 0), mean, 1e-14);
    assert_true(made.view.domain == NADIR_DOMAIN_SUPPORT && made.result.samples == OUTCOMES);
    int inside = 0;
    for (int k = 0; k < OUTCOMES; k++) {
        inside += sqrt(2) * fabs(p[k] - mean) * sqrt(100.0 / 98) <= made.view.radius[0] * (1 + 1e-12) ? 1 : 0;
    }
    assert_in_range(inside, 80, 81); /* (99 + 1) 0.8; distances come in pairs */
    clear(&made);
    settings.successors = "all";
    assert_ok(context, try_fit(context, "samples.csv", &settings, &made));
    assert_true(made.view.domain == NADIR_DOMAIN_SIMPLEX);
    clear(&made);
    settings.confidence = 0.995;
    assert_fails(context, try_fit(context, "samples.csv", &settings, &made), NADIR_ERROR_ARGUMENT,
                 "99 outcomes are too few for a confidence of 0.995: at least 199 are needed");
    clear(&made);
    settings.method = "bootstrap";
    assert_fails(context, try_fit(context, "samples.csv", &settings, &made), NADIR_ERROR_UNSUPPORTED,
                 "posterior samples");
    clear(&made);
    settings.method = NULL;
    settings.confidence = 0.3; /* one outcome is at distance 0 from the mean, which says nothing */
    test_write_file("one.csv", "idoutcome,state,action,next_state,probability\n0,0,0,0,0.5\n0,0,0,1,0.5\n");
    assert_fails(context, try_fit(context, "one.csv", &settings, &made), NADIR_ERROR_ARGUMENT,
                 "1 outcomes are too few for a confidence of 0.3: at least 2 are needed");
    clear(&made);
}

/* One visit; one state; all rows pinned; no rewards; no discount: all have an answer. */
static void test_degenerate(void **state)
{
    static const char *const methods[] = {"posterior", "bootstrap", "distribution-free"};
    static const double norms[] = {1, 2, 3, INFINITY};
    nadir_context *context = *state;
    fitted made;
    test_write_file("one.csv", "state,action,next_state,reward\n0,0,1,1\n");
    test_write_file("alone.csv", "state,action,next_state,reward\n0,0,0,1\n");
    test_write_file("plain.csv", "state,action,next_state\n0,0,1\n1,0,0\n0,0,0\n");
    for (int m = 0; m < 3; m++) {
        for (int n = test_memcheck() ? 3 : 0; n < 4; n++) {
            nadir_fit_settings settings = quick();
            settings.method = methods[m];
            settings.norm = norms[n];
            test_note("%s, norm %g", methods[m], norms[n]);
            assert_ok(context, try_fit(context, "one.csv", &settings, &made));
            assert_true(made.result.sets[0].radius > 0 && isfinite(made.result.sets[0].lower_bound));
            clear(&made);
            assert_ok(context, try_fit(context, "alone.csv", &settings, &made));
            assert_true(made.result.sets[0].radius == 0 && made.result.sets[2].radius == 0);
            assert_close(made.result.sets[0].lower_bound, 10, 1e-9);
            clear(&made);
            settings.unvisited = "absorb";
            settings.successors = "seen";
            assert_ok(context, try_fit(context, "one.csv", &settings, &made)); /* nothing is left to doubt */
            assert_true(made.result.rows_known == 2 && made.result.sets[0].radius == 0);
            clear(&made);
            settings = quick();
            settings.method = methods[m];
            settings.norm = norms[n];
            if (m == 0 && n == 3 && !test_memcheck()) { /* a confidence that takes more draws than others */
                settings.samples = 0;
                settings.confidence = 0.9995;
            }
            assert_ok(context, try_fit(context, "plain.csv", &settings, &made));
            assert_true(made.view.rewards == NULL && isnan(made.result.nominal_return));
            assert_true(made.result.sets[0].radius > 0 && made.result.candidates_count == 1);
            assert_string_equal(made.result.candidates[0].scales, "deviation");
            clear(&made);
        }
    }
}

/* Free of distributions, the radius is larger than that of the posterior, and both shrink with data. */
static void test_methods(void **state)
{
    nadir_context *context = *state;
    double before[3] = {INFINITY, INFINITY, INFINITY};
    for (int often = 10; often <= 1000; often *= 10) {
        static const char *const methods[] = {"posterior", "bootstrap", "distribution-free"};
        char text[256];
        double radius[3];
        (void)snprintf(text, sizeof text,
                       "state,action,next_state,count\n0,0,0,%d\n0,0,1,%d\n1,0,0,%d\n1,0,1,%d\n", often,
                       2 * often, 3 * often, often);
        test_write_file("log.csv", text);
        for (int m = 0; m < 3; m++) {
            nadir_fit_settings settings = quick();
            fitted made;
            settings.method = methods[m];
            settings.samples = test_memcheck() ? 400 : 4000;
            assert_ok(context, try_fit(context, "log.csv", &settings, &made));
            radius[m] = made.result.sets[0].radius;
            assert_true(radius[m] < before[m]);
            before[m] = radius[m];
            clear(&made);
        }
        assert_true(radius[2] > radius[0]);
        assert_close(radius[1] / radius[0], 1, (test_memcheck() ? 0.1 : 0) + (often == 10 ? 0.2 : 0.08));
    }
}

static void test_wrong_settings(void **state)
{
    nadir_context *context = *state;
    nadir_fit_settings settings;
    fitted made;
    test_write_file("log.csv", log_text);
#define REFUSED(member, value, status, words)                                                                \
    settings = quick();                                                                                      \
    settings.member = (value);                                                                               \
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), status, words);                     \
    clear(&made)
    REFUSED(confidence, 1, NADIR_ERROR_ARGUMENT, "the confidence is 1");
    REFUSED(confidence, NAN, NADIR_ERROR_ARGUMENT, "the confidence is");
    REFUSED(norm, 0.5, NADIR_ERROR_ARGUMENT, "the norm is 0.5");
    REFUSED(prior, 0, NADIR_ERROR_ARGUMENT, "above 0: a posterior needs one");
    REFUSED(prior, -1, NADIR_ERROR_ARGUMENT, "the weight of the prior is -1");
    REFUSED(concentration, INFINITY, NADIR_ERROR_ARGUMENT, "the weight of the prior is inf");
    settings = quick();
    settings.samples = 0;
    settings.confidence = 1 - 1e-9;
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_ARGUMENT,
                 "would need 138155");
    clear(&made);
    REFUSED(method, "magic", NADIR_ERROR_ARGUMENT,
            "method: 'magic' given, expected one of posterior, bootstrap, distribution-free");
    REFUSED(scales, "large", NADIR_ERROR_ARGUMENT, "scales: 'large' given");
    REFUSED(unvisited, "hope", NADIR_ERROR_ARGUMENT, "unvisited: 'hope' given");
    REFUSED(samples, -1, NADIR_ERROR_ARGUMENT, "cannot be negative");
    REFUSED(samples, 20, NADIR_ERROR_ARGUMENT,
            "20 samples are too few for a confidence of 0.95: at least 135");
    REFUSED(discount, 1.5, NADIR_ERROR_ILL_POSED, "the discount is 1.5; expected at least 0 and less than 1");
    REFUSED(discount, 1, NADIR_ERROR_ILL_POSED, "the discount is 1;");
    REFUSED(states, 2, NADIR_ERROR_FORMAT, "log.csv:");
#undef REFUSED
    settings = quick();
    settings.prior = 1;
    settings.concentration = 1;
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_ARGUMENT,
                 "cannot both be given");
    clear(&made);
    settings = quick();
    settings.discount = NAN;
    settings.scales = "occupancy";
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_MODEL,
                 "scales occupancy need a discount");
    clear(&made);
    settings.size = 3;
    assert_fails(context, try_fit(context, "log.csv", &settings, &made), NADIR_ERROR_ARGUMENT, "size");
    clear(&made);
}

static nadir_status attempt(nadir_context *context, const void *of)
{
    fitted made;
    const nadir_status status = try_fit(context, "log.csv", of, &made);
    clear(&made);
    return status;
}

static void test_scarce_memory(void **state)
{
    nadir_fit_settings settings = quick();
    (void)state;
    test_write_file("log.csv", log_text);
    test_write_file("list.csv", "state,action,next_state\n0,0,0\n0,0,1\n0,1,2\n0,1,0\n1,0,0\n1,0,1\n1,0,2\n"
                                "1,1,0\n2,0,1\n2,0,2\n2,1,0\n2,1,2\n");
    settings.samples = 150;
    settings.scales = "sensitivity";
    settings.successors = "list.csv";
    test_run_out(attempt, &settings, NULL, "fit");
    if (test_memcheck()) {
        return;
    }
    settings.method = "distribution-free";
    settings.successors = NULL;
    settings.scales = "deviation";
    test_run_out(attempt, &settings, NULL, "fit, distribution-free");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_with_context(test_nominal),      test_with_context(test_landing_rewards),
        test_with_context(test_scales),       test_with_context(test_unvisited),
        test_with_context(test_successors),   test_with_context(test_samples),
        test_with_context(test_degenerate),   test_with_context(test_methods),
        test_with_context(test_terminal),     test_with_context(test_wrong_settings),
        cmocka_unit_test(test_scarce_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
