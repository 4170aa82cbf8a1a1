/* generated.c: models from the generators, for unit tests; see generated.h. */
#include "support/support.h"

#include "support/generated.h"

nadir_generate_settings test_generate_settings(void)
{
    nadir_generate_settings settings;
    nadir_generate_settings_default(&settings);
    return settings;
}

nadir_model *test_generate(nadir_context *context, const char *kind, const nadir_generate_settings *settings)
{
    nadir_model *model = NULL;
    assert_ok(context, nadir_model_generate(context, kind, settings, &model));
    assert_string_equal(test_messages(), "");
    return model;
}

nadir_model *test_generate_dense(nadir_context *context, int64_t states, double discount, uint64_t seed)
{
    nadir_generate_settings settings = test_generate_settings();
    settings.states = states;
    settings.actions = 4;
    settings.seed = seed;
    settings.discount = discount;
    return test_generate(context, "random", &settings);
}

nadir_model_data test_view(const nadir_model *model)
{
    nadir_model_data view;
    nadir_model_data_default(&view);
    nadir_model_view(model, &view);
    return view;
}
