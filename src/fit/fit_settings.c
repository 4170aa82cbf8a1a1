/* fit_settings.c: the settings of a fit, checked; see fit.h. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const methods[] = {"posterior", "bootstrap", "distribution-free"};
static const char *const scales[] = {"ones", "deviation", "occupancy", "sensitivity", "auto"};
static const char *const unvisited[] = {"uniform", "pin", "absorb"};
static const char *const promises[] = {"return", "kernel", "posterior"};

const char *nadir_fit_method_name(nadir_fit_method method)
{
    return methods[method];
}

const char *nadir_scales_name(int choice)
{
    return scales[choice];
}

bool nadir_fit_names_file(const nadir_fit_settings *settings)
{
    const char *successors = settings->successors;
    return successors != NULL && strcmp(successors, "all") != 0 && strcmp(successors, "seen") != 0;
}

void nadir_fit_settings_fill(nadir_fit_settings *settings, size_t size)
{
    const nadir_fit_settings made = {.confidence = 0.95,
                                     .prior = NAN,
                                     .concentration = NAN,
                                     .norm = 2,
                                     .set = NADIR_SET_NONRECT,
                                     .discount = NAN};
    nadir_settings_give(settings, size, &made, sizeof made);
}

/* *place: the index of the word among `words`; `unsaid` if it is NULL. */
static nadir_status find_word(nadir_context *context, const char *what, const char *word, int count,
                              const char *const words[], int unsaid, int *place)
{
    char expected[128] = "";
    size_t length = 0;
    *place = word == NULL ? unsaid : 0;
    while (word != NULL && *place < count && strcmp(word, words[*place]) != 0) {
        const int added = snprintf(&expected[length], sizeof expected - length, "%s%s",
                                   *place > 0 ? ", " : "", words[*place]);
        length += (size_t)added;
        (*place)++;
    }
    return *place < count ? NADIR_OK
                          : nadir_fail(context, NADIR_ERROR_ARGUMENT, "%s: '%s' given, expected one of %s",
                                       what, word, expected);
}

static nadir_status check_numbers(nadir_context *context, const nadir_fit_settings *settings,
                                  const nadir_fit_options *options, nadir_data_kind data_kind)
{
    if (!(settings->confidence > 0) || !(settings->confidence < 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the confidence is %g; expected more than 0 and less than 1", settings->confidence);
    }
    if (!isnan(settings->discount) && !(settings->discount >= 0 && settings->discount < 1)) {
        return nadir_fail(context, NADIR_ERROR_ILL_POSED,
                          "the discount is %g; expected at least 0 and less than 1", settings->discount);
    }
    if (!(settings->norm >= 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the norm is %g; expected 1 to infinity",
                          settings->norm);
    }
    if (!isnan(settings->prior) && !isnan(settings->concentration)) {
        return nadir_fail(
            context, NADIR_ERROR_ARGUMENT,
            "prior and concentration cannot both be given: one is that of a row, the other that "
            "of each of its successors");
    }
    const double weight = isnan(options->concentration) ? options->prior : options->concentration;
    const bool needed = options->method != NADIR_FIT_FREE && data_kind != NADIR_DATA_SAMPLES;
    if (!(weight >= 0) || isinf(weight) || (needed && weight == 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the weight of the prior is %g; expected a finite number%s", weight,
                          needed ? " above 0: a posterior needs one" : ", 0 or more");
    }
    if (settings->states < 0 || settings->actions < 0 || settings->samples < 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "states, actions and samples cannot be negative");
    }
    if (data_kind == NADIR_DATA_SAMPLES && options->method != NADIR_FIT_POSTERIOR) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the data are posterior samples: method %s needs observations",
                          methods[options->method]);
    }
    if (data_kind == NADIR_DATA_SAMPLES && nadir_fit_names_file(settings)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the data are posterior samples, which say themselves what is possible: "
                          "successors are all or seen, not a file");
    }
    return NADIR_OK;
}

nadir_status nadir_fit_check_settings(nadir_context *context, const nadir_fit_settings *settings,
                                      nadir_data_kind data_kind, nadir_fit_options *options)
{
    int method = 0;
    int place = 0;
    NADIR_TRY(find_word(context, "method", settings->method, 3, methods, NADIR_FIT_POSTERIOR, &method));
    NADIR_TRY(
        find_word(context, "scales", settings->scales, 5, scales, NADIR_SCALES_COUNT, &options->scales));
    NADIR_TRY(
        find_word(context, "unvisited", settings->unvisited, 3, unvisited, NADIR_UNVISITED_UNIFORM, &place));
    options->unvisited = (nadir_unvisited)place;
    const bool of_ball = settings->method != NULL || settings->scales != NULL ||
                         settings->set > NADIR_SET_NONRECT || data_kind == NADIR_DATA_SAMPLES ||
                         isnan(settings->discount);
    NADIR_TRY(find_word(context, "guarantee", settings->guarantee, 3, promises,
                        of_ball ? NADIR_PROMISE_KERNEL : NADIR_PROMISE_RETURN, &options->guarantee));
    if (options->guarantee != NADIR_PROMISE_KERNEL &&
        (settings->method != NULL || settings->scales != NULL || settings->set > NADIR_SET_NONRECT)) {
        return nadir_fail(
            context, NADIR_ERROR_UNSUPPORTED,
            "%s is about a ball that holds the kernel: leave it out, or take --guarantee kernel",
            settings->method != NULL   ? "--method"
            : settings->scales != NULL ? "--scales"
                                       : "--set");
    }
    if (options->guarantee != NADIR_PROMISE_KERNEL && settings->unvisited == NULL) {
        options->unvisited = NADIR_UNVISITED_ABSORB;
    }
    options->method = (nadir_fit_method)method;
    options->confidence = settings->confidence;
    options->norm = settings->norm;
    options->set = settings->set == NADIR_SET_UNSAID ? NADIR_SET_NONRECT : settings->set;
    options->samples = settings->samples;
    options->concentration = settings->concentration;
    options->prior = !isnan(settings->prior) ? settings->prior : method == NADIR_FIT_FREE ? 0 : 2;
    const bool all = settings->successors == NULL ? data_kind != NADIR_DATA_SAMPLES
                                                  : strcmp(settings->successors, "all") == 0;
    options->domain = all ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
    return check_numbers(context, settings, options, data_kind);
}

const char *nadir_fit_promised(const nadir_fit *fit)
{
    return promises[fit->options.guarantee];
}
