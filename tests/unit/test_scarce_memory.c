/* test_scarce_memory.c: the k-th allocation fails, k = 1, 2, ..., through every call that reads, writes or
 * makes a model: a clean status each time, nothing leaks, no file is left behind. */
#include "support/support.h"

#include "support/scarce.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const endings[] = {"csv", "npz", "tra", "drn", "MDP", "bin"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static nadir_status generate(nadir_context *context, const void *of)
{
    nadir_model *model = NULL;
    const nadir_status status = nadir_model_generate(context, of, NULL, &model);
    nadir_model_free(model);
    return status;
}

static void test_generate(void **state)
{
    (void)state;
    const nadir_generator_facts *kind;
    for (int64_t k = 0; (kind = nadir_generator(k)) != NULL; k++) {
        test_run_out(generate, kind->name, NULL, kind->name);
    }
}

typedef struct file_case {
    const nadir_model *model;
    char path[32];
    nadir_read_settings settings;
} file_case;

static nadir_status write_model(nadir_context *context, const void *of)
{
    const file_case *at = of;
    return nadir_model_write(context, at->model, at->path, NULL);
}

static nadir_status read_model(nadir_context *context, const void *of)
{
    const file_case *at = of;
    char digest[65];
    nadir_model *model = NULL;
    nadir_model_facts facts;
    nadir_model_facts_default(&facts);
    nadir_status status = nadir_model_read(context, at->path, &at->settings, &model);
    if (status == NADIR_OK) {
        status = nadir_model_facts_compute(context, model, &facts);
    }
    if (status == NADIR_OK) {
        status = nadir_file_digest(context, at->path, digest);
    }
    nadir_model_free(model);
    return status;
}

/* A model that every format can hold, with the names that some of them keep. */
static nadir_model *plain_model(nadir_context *context)
{
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_generate(context, "machine", NULL, &model));
    return model;
}

static void set_case(file_case *at, const nadir_model *model, const char *stem, const char *ending)
{
    *at = (file_case){.model = model};
    (void)snprintf(at->path, sizeof at->path, "%s.%s", stem, ending);
    nadir_read_settings_default(&at->settings);
}

static void test_write(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = plain_model(context);
    for (int i = 0; i < ENDINGS; i++) {
        file_case at;
        char stem[16];
        (void)snprintf(stem, sizeof stem, "written%d", i);
        set_case(&at, model, stem, endings[i]);
        test_run_out(write_model, &at, stem, at.path);
        assert_true(test_count_files(stem) > 0);
    }
    nadir_model_free(model);
}

static void test_read(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = plain_model(context);
    test_write_file("initial.csv", "idstate,probability\n0,0.5\n1,0.5\n");
    for (int i = 0; i < ENDINGS; i++) {
        file_case at;
        set_case(&at, model, "read", endings[i]);
        at.settings.rewards = strcmp(endings[i], "tra") == 0   ? "read.trew"
                              : strcmp(endings[i], "bin") == 0 ? "read.g.bin"
                                                               : NULL;
        at.settings.initial = "initial.csv";
        assert_ok(context, nadir_model_write(context, model, at.path, NULL));
        test_run_out(read_model, &at, NULL, at.path);
    }
    nadir_model_free(model);
}

static nadir_status read_policy(nadir_context *context, const void *of)
{
    const file_case *at = of;
    nadir_policy *policy = NULL;
    const nadir_status status = nadir_policy_read(context, at->model, at->path, &policy);
    nadir_policy_free(policy);
    return status;
}

static void test_policies(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = plain_model(context);
    nadir_policy *policy = test_uniform_policy(context, model);
    static const char *const kinds[] = {"csv", "npy"};
    for (int i = 0; i < 2; i++) {
        file_case at;
        set_case(&at, model, "policy", kinds[i]);
        assert_ok(context, nadir_policy_write(context, model, policy, at.path));
        test_run_out(read_policy, &at, NULL, at.path);
    }
    nadir_policy_free(policy);
    nadir_model_free(model);
}

static nadir_status create_again(nadir_context *context, const void *of)
{
    const nadir_model_data data = test_view(of);
    nadir_model *model = NULL;
    const nadir_status status = nadir_model_create(context, &data, &model);
    nadir_model_free(model);
    return status;
}

static void test_create(void **state)
{
    nadir_context *context = *state;
    nadir_model *model = test_rich_model(context);
    test_run_out(create_again, model, NULL, "nadir_model_create");
    nadir_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generate),  test_with_context(test_write),  test_with_context(test_read),
        test_with_context(test_policies), test_with_context(test_create),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
