/* support.c: what the unit tests share; see support.h. */
#include "support/support.h"

#include "core/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char messages[1 << 16];
static char note[512];

/* The largest number that a variable may have: products with it stay within int. */
#define MOST_ASKED 100000
#define MOST_SEED  1000000000

static void keep_message(void *user, nadir_log_level level, const char *message)
{
    (void)user;
    const size_t used = strlen(messages);
    if (level <= NADIR_LOG_NOTICE) {
        (void)snprintf(messages + used, sizeof messages - used, "%s\n", message);
    }
}

void test_use_engine(nadir_context *context)
{
    static nadir_context *keeper = NULL;
    static nadir_engine *engine = NULL;
    const char *name = getenv("NADIR_TEST_ENGINE");
    if (name == NULL || *name == '\0') {
        return;
    }
    if (engine == NULL) {
        assert_int_equal(nadir_context_create(NULL, &keeper), NADIR_OK);
        assert_ok(keeper, nadir_engine_open(keeper, name, NULL, false, &engine));
    }
    context->device = keeper->device;
    context->device_self = keeper->device_self;
}

nadir_context *test_context(void)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.log = keep_message;
    nadir_context *context = NULL;
    test_messages_clear();
    assert_int_equal(nadir_context_create(&settings, &context), NADIR_OK);
    test_use_engine(context);
    return context;
}

int test_context_setup(void **state)
{
    *state = test_context();
    return 0;
}

int test_context_teardown(void **state)
{
    nadir_context_free(*state);
    test_note_clear();
    return 0;
}

const char *test_messages(void)
{
    return messages;
}

void test_messages_clear(void)
{
    messages[0] = '\0';
}

void test_write_bytes(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

void test_write_file(const char *name, const char *text)
{
    test_write_bytes(name, text, strlen(text));
}

bool test_memcheck(void)
{
    const char *set = getenv("NADIR_VALGRIND");
    return set != NULL && set[0] == '1';
}

bool test_brief(void)
{
    const char *asked = getenv("NADIR_BRIEF");
    return getenv("NADIR_SANITIZED") != NULL && asked != NULL && asked[0] == '1';
}

/* A share of what is done elsewhere, at least once. */
static int share(int often, int under_memcheck, int when_brief)
{
    const int part = test_memcheck() ? under_memcheck : test_brief() ? when_brief : 1;
    return (often + part - 1) / part;
}

int test_often(int often)
{
    return share(often, 10, 3);
}

int test_attack_count(int usual)
{
    return share(usual * test_variable("NADIR_ATTACKS", 1, 1), 20, 4);
}

static int variable(const char *name, int least, int most, int usual)
{
    const char *text = getenv(name);
    if (text == NULL) {
        return usual;
    }
    char *end;
    const long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < least || number > most) {
        fail_msg("%s is \"%s\"; expected a number of %d to %d", name, text, least, most);
    }
    return (int)number;
}

int test_attack_seed(int usual)
{
    return variable("NADIR_ATTACK_SEED", 0, MOST_SEED, usual);
}

int test_variable(const char *name, int least, int usual)
{
    return variable(name, least, MOST_ASKED, usual);
}

void test_note(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(note, sizeof note, format, values);
    va_end(values);
}

void test_note_clear(void)
{
    note[0] = '\0';
}

void test_fail(const char *file, int line, const char *format, ...)
{
    char sentence[1024];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(sentence, sizeof sentence, format, values);
    va_end(values);
    print_error("%s%s%s\n", note, note[0] != '\0' ? ": " : "", sentence);
    _fail(file, line);
}

void test_assert_close(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    const double scale = fabs(b) > 1 ? fabs(b) : 1;
    if (a == b || (isnan(a) && isnan(b)) ||
        (isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance * scale)) {
        return;
    }
    test_fail(file, line, "%s is %.17g, expected %.17g within %g", what, a, b, tolerance);
}

void test_assert_fails(nadir_context *context, nadir_status status, nadir_status expected, const char *words,
                       const char *file, int line)
{
    const char *error = nadir_context_error(context);
    if (status == expected && strstr(error, words) != NULL) {
        return;
    }
    test_fail(file, line, "expected %s with \"%s\"\n     got %s: %s", nadir_status_name(expected), words,
              nadir_status_name(status), error);
}

void test_assert_ok(nadir_context *context, nadir_status status, const char *file, int line)
{
    if (status != NADIR_OK) {
        test_fail(file, line, "%s: %s", nadir_status_name(status), nadir_context_error(context));
    }
}

static nadir_context *create_context(const nadir_context_settings *settings)
{
    nadir_context *context = NULL;
    test_messages_clear();
    assert_int_equal(nadir_context_create(settings, &context), NADIR_OK);
    return context;
}

nadir_context *test_context_seed(uint64_t seed, int32_t threads)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.seed = seed;
    settings.threads = threads;
    return create_context(&settings);
}

nadir_context *test_context_threads(int32_t threads)
{
    return test_context_seed(0, threads);
}

nadir_context *test_context_memory(size_t bytes)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.memory_limit = bytes;
    return create_context(&settings);
}

nadir_context *test_context_progress(nadir_progress_function progress, void *user)
{
    nadir_context_settings settings;
    nadir_context_settings_default(&settings);
    settings.progress = progress;
    settings.progress_user = user;
    return create_context(&settings);
}

nadir_model_data test_model_data(void)
{
    nadir_model_data made;
    nadir_model_data_default(&made);
    return made;
}

nadir_generate_settings test_generate_settings(void)
{
    nadir_generate_settings made;
    nadir_generate_settings_default(&made);
    return made;
}

nadir_solver_settings test_solver_settings(void)
{
    nadir_solver_settings made;
    nadir_solver_settings_default(&made);
    return made;
}

nadir_optimum_settings test_optimum_settings(void)
{
    nadir_optimum_settings made;
    nadir_optimum_settings_default(&made);
    return made;
}

nadir_robust_settings test_robust_settings(void)
{
    nadir_robust_settings made;
    nadir_robust_settings_default(&made);
    made.time_limit = 0; /* strict proofs are limited by work: random models may be out of reach */
    return made;
}

nadir_robust_optimum_settings test_robust_optimum_settings(void)
{
    nadir_robust_optimum_settings made;
    nadir_robust_optimum_settings_default(&made);
    return made;
}

nadir_random test_random(uint64_t seed)
{
    nadir_random random;
    nadir_random_seed(&random, seed);
    return random;
}

nadir_model_data test_view(const nadir_model *model)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    return view;
}

nadir_model *test_create_model(nadir_context *context, const nadir_model_data *data)
{
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_create(context, data, &model));
    return model;
}

nadir_policy *test_uniform_policy(nadir_context *context, const nadir_model *model)
{
    nadir_policy *policy = NULL;
    assert_ok(context, nadir_policy_create_uniform(context, model, &policy));
    return policy;
}

double test_probability(const nadir_model *model, int64_t row, int64_t successor)
{
    const nadir_model_data view = test_view(model);
    if (view.dense != NULL) {
        return view.dense[row * view.states + successor];
    }
    for (int64_t i = view.row_starts[row]; i < view.row_starts[row + 1]; i++) {
        if (view.columns[i] == successor) {
            return view.probabilities[i];
        }
    }
    return 0;
}

/* The reward of the transition, or of its row where none is kept. */
static double transition_reward(const nadir_model_data *view, int64_t row, int64_t successor)
{
    if (view->transition_rewards == NULL) {
        return view->rewards != NULL ? view->rewards[row] : NAN;
    }
    if (view->dense != NULL) {
        return view->transition_rewards[row * view->states + successor];
    }
    for (int64_t i = view->row_starts[row]; i < view->row_starts[row + 1]; i++) {
        if (view->columns[i] == successor) {
            return view->transition_rewards[i];
        }
    }
    return NAN;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_name(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void differ(const char *what, int64_t where, double a, double b, const char *file, int line)
{
    print_error("models differ in %s at %lld: %.17g and %.17g\n", what, (long long)where, a, b);
    _fail(file, line);
}

static void compare_rows(const nadir_model *a, const nadir_model *b, const nadir_model_data *x,
                         const nadir_model_data *y, unsigned ignore, const char *file, int line)
{
    for (int64_t row = 0; row < x->rows; row++) {
        for (int64_t t = 0; t < x->states; t++) {
            const double left = test_probability(a, row, t);
            const double right = test_probability(b, row, t);
            if (!same(left, right)) {
                differ("probability of row", row, left, right, file, line);
            }
            const double left_reward = transition_reward(x, row, t);
            const double right_reward = transition_reward(y, row, t);
            if (left > 0 && !(ignore & TEST_IGNORE_TRANSITION_REWARDS) && !same(left_reward, right_reward)) {
                differ("transition reward of row", row, left_reward, right_reward, file, line);
            }
        }
        const double left = x->rewards != NULL ? x->rewards[row] : NAN;
        const double right = y->rewards != NULL ? y->rewards[row] : NAN;
        if (!same(left, right)) {
            differ("reward of row", row, left, right, file, line);
        }
        const double left_scale = x->scales != NULL ? x->scales[row] : 1;
        const double right_scale = y->scales != NULL ? y->scales[row] : 1;
        if (!(ignore & TEST_IGNORE_SCALES) && left_scale != right_scale) {
            differ("scale of row", row, left_scale, right_scale, file, line);
        }
        if (!(ignore & TEST_IGNORE_NAMES) &&
            !same_name(nadir_model_action_name(a, row), nadir_model_action_name(b, row))) {
            differ("action name of row", row, 0, 0, file, line);
        }
    }
}

static void compare_actions(const nadir_model_data *x, const nadir_model_data *y, const char *file, int line)
{
    for (int64_t s = 0; s < x->states; s++) {
        for (int64_t row = x->state_rows[s]; row < x->state_rows[s + 1]; row++) {
            const int64_t plain = row - x->state_rows[s];
            const int64_t left = x->row_actions != NULL ? x->row_actions[row] : plain;
            const int64_t right = y->row_actions != NULL ? y->row_actions[row] : plain;
            if (left != right) {
                differ("action number of row", row, (double)left, (double)right, file, line);
            }
        }
    }
}

static void compare_ball(const nadir_model_data *x, const nadir_model_data *y, const char *file, int line)
{
    if (!same(x->norm, y->norm) || x->set != y->set || x->domain != y->domain ||
        x->radius_count != y->radius_count) {
        differ("norm, set, domain or number of radii", 0, x->norm, y->norm, file, line);
    }
    for (int64_t i = 0; i < x->radius_count; i++) {
        if (x->radius[i] != y->radius[i]) {
            differ("radius", i, x->radius[i], y->radius[i], file, line);
        }
    }
}

void test_assert_models_equal(const nadir_model *a, const nadir_model *b, unsigned ignore, const char *file,
                              int line)
{
    nadir_model_data x;
    nadir_model_data y;
    nadir_model_data_default(&x);
    nadir_model_data_default(&y);
    nadir_model_view(a, &x);
    nadir_model_view(b, &y);
    if (x.states != y.states || x.rows != y.rows || x.nonzeros != y.nonzeros) {
        print_error("models differ in size: %lld, %lld states; %lld, %lld rows; %lld, %lld nonzeros\n",
                    (long long)x.states, (long long)y.states, (long long)x.rows, (long long)y.rows,
                    (long long)x.nonzeros, (long long)y.nonzeros);
        _fail(file, line);
    }
    for (int64_t s = 0; s <= x.states; s++) {
        if (x.state_rows[s] != y.state_rows[s]) {
            differ("first row of state", s, (double)x.state_rows[s], (double)y.state_rows[s], file, line);
        }
    }
    for (int64_t s = 0; s < x.states; s++) {
        if (!(ignore & TEST_IGNORE_INITIAL) && x.initial[s] != y.initial[s]) {
            differ("initial probability of state", s, x.initial[s], y.initial[s], file, line);
        }
        if (!(ignore & TEST_IGNORE_NAMES) &&
            !same_name(nadir_model_state_name(a, s), nadir_model_state_name(b, s))) {
            differ("name of state", s, 0, 0, file, line);
        }
    }
    if (!(ignore & TEST_IGNORE_DISCOUNT) && !same(x.discount, y.discount)) {
        differ("discount", 0, x.discount, y.discount, file, line);
    }
    if (!(ignore & TEST_IGNORE_ACTION_NUMBERS)) {
        compare_actions(&x, &y, file, line);
    }
    if (!(ignore & TEST_IGNORE_BALL)) {
        compare_ball(&x, &y, file, line);
    }
    compare_rows(a, b, &x, &y, ignore, file, line);
}

nadir_model *test_rich_model(nadir_context *context)
{
    static const int64_t state_rows[] = {0, 2, 3, 6, 7};
    static const int32_t row_actions[] = {0, 3, 1, 0, 1, 4, 2};
    static const int64_t row_starts[] = {0, 2, 3, 6, 7, 9, 11, 12};
    static const int32_t columns[] = {0, 3, 1, 0, 1, 2, 3, 1, 2, 0, 3, 3};
    const double third = 1.0 / 3;
    const double probabilities[] = {0.1, 0.9, 1, third, third, third, 1, 0.7, 0.3, 2 * third, third, 1};
    const double transition_rewards[] = {1e9, -1e-9, 0.1, 1, 2, 3, -7.25, 0, 1 / 3.0, 5, 5, 0};
    const double initial[] = {0.1, 0.2, 0.3, 0.4};
    const double scales[] = {1, 0.5, 0, 2, third, 1, 1};
    static const char *const state_names[] = {"start", "hall", "lab", "exit"};
    static const char *const action_names[] = {"stay", "left", "right", "jump", "sleep"};
    nadir_model_data data;
    nadir_model_data_default(&data);
    data.states = 4;
    data.rows = 7;
    data.discount = 0.9;
    data.state_rows = state_rows;
    data.row_actions = row_actions;
    data.row_starts = row_starts;
    data.columns = columns;
    data.probabilities = probabilities;
    data.transition_rewards = transition_rewards;
    data.initial = initial;
    data.scales = scales;
    data.state_names = state_names;
    data.action_names = action_names;
    data.action_names_count = 5;
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_create(context, &data, &model));
    return model;
}
