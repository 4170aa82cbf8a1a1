/* formats.c: reading and writing models in a file format, for unit tests; see formats.h. */
#include "support/support.h"

#include "support/formats.h"
#include "support/scarce.h"

#include <math.h>

nadir_read_settings test_read_settings(void)
{
    return (nadir_read_settings){.size = sizeof(nadir_read_settings), .discount = NAN};
}

nadir_status test_format_read(nadir_context *context, const nadir_format *format, const char *path,
                              const nadir_read_settings *settings, nadir_model **model)
{
    const nadir_read_settings usual = test_read_settings();
    *model = NULL;
    return format->read(context, path, settings != NULL ? settings : &usual, model);
}

nadir_status test_format_write(nadir_context *context, const nadir_format *format, const nadir_model *model,
                               const char *path)
{
    const nadir_write_settings settings = {.size = sizeof settings};
    return format->write(context, model, path, &settings);
}

nadir_model *test_format_read_text(nadir_context *context, const nadir_format *format, const char *path,
                                   const char *text)
{
    nadir_model *model;
    test_write_file(path, text);
    assert_ok(context, test_format_read(context, format, path, NULL, &model));
    return model;
}

void test_format_assert_same(const nadir_format *format, const char *path, const char *left,
                             const char *right, const char *message)
{
    nadir_context *context = test_context();
    nadir_model *a = test_format_read_text(context, format, path, left);
    nadir_model *b = test_format_read_text(context, format, path, right);
    assert_models_equal(b, a, 0);
    if (message != NULL) {
        assert_string_equal(test_messages(), message);
    }
    nadir_model_free(a);
    nadir_model_free(b);
    nadir_context_free(context);
}

void test_format_refuse(const nadir_format *format, const char *path, const nadir_read_settings *settings,
                        nadir_status expected, const char *words)
{
    nadir_context *context = test_context();
    nadir_model *model;
    assert_fails(context, test_format_read(context, format, path, settings, &model), expected, words);
    assert_null(model);
    assert_true(nadir_context_memory_peak(context) < 1 << 20);
    nadir_context_free(context);
}

typedef struct copying {
    const nadir_format *format;
    const char *path;
    const nadir_read_settings *settings;
    const char *copy;
} copying;

static nadir_status copy(nadir_context *context, const void *of)
{
    const copying *from = of;
    nadir_model *model;
    nadir_status status = test_format_read(context, from->format, from->path, from->settings, &model);
    if (status == NADIR_OK) {
        status = test_format_write(context, from->format, model, from->copy);
    }
    nadir_model_free(model);
    return status;
}

int64_t test_format_run_out(const nadir_format *format, const char *path, const nadir_read_settings *settings,
                            const char *copy_path, int files)
{
    const copying from = {format, path, settings, copy_path};
    const int64_t failures = test_run_out(copy, &from, "scarce.", path);
    assert_int_equal(test_count_files("scarce."), files);
    return failures;
}
