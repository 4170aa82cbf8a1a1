/* fit_settings.c: what is asked of a fit, by name, and whether it can be. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const methods[] = {"posterior", "bootstrap", "distribution-free"};
static const char *const scales[] = {"ones", "deviation", "occupancy", "sensitivity", "auto"};
static const char *const unvisited[] = {"uniform", "pin", "absorb"};

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

/* The place of the word, NULL being `unsaid`. */
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
                                  const nadir_fit_options *question, nadir_data_kind data_kind)
{
    if (!(settings->confidence > 0) || !(settings->confidence < 1)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the confidence is %g; expected more than 0 and less than 1", settings->confidence);
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
    const double weight = isnan(question->concentration) ? question->prior : question->concentration;
    const bool needed = question->method != NADIR_FIT_FREE && data_kind != NADIR_DATA_SAMPLES;
    if (!(weight >= 0) || isinf(weight) || (needed && weight == 0)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT,
                          "the weight of the prior is %g; expected a finite number%s", weight,
                          needed ? " above 0: a posterior needs one" : ", 0 or more");
    }
    if (settings->states < 0 || settings->actions < 0 || settings->samples < 0) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "states, actions and samples cannot be negative");
    }
    if (data_kind == NADIR_DATA_SAMPLES && question->method != NADIR_FIT_POSTERIOR) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the data are posterior samples: method %s needs observations",
                          methods[question->method]);
    }
    if (data_kind == NADIR_DATA_SAMPLES && nadir_fit_names_file(settings)) {
        return nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                          "the data are posterior samples, which say themselves what is possible: "
                          "successors are all or seen, not a file");
    }
    return NADIR_OK;
}

nadir_status nadir_fit_check_settings(nadir_context *context, const nadir_fit_settings *settings,
                                      nadir_data_kind data_kind, nadir_fit_options *question)
{
    nadir_status status = NADIR_OK;
    int method = 0;
    int place = 0;
    NADIR_CHECK(find_word(context, "method", settings->method, 3, methods, NADIR_FIT_POSTERIOR, &method));
    NADIR_CHECK(
        find_word(context, "scales", settings->scales, 5, scales, NADIR_SCALES_COUNT, &question->scales));
    NADIR_CHECK(
        find_word(context, "unvisited", settings->unvisited, 3, unvisited, NADIR_UNVISITED_UNIFORM, &place));
    question->unvisited = (nadir_unvisited)place;
    question->method = (nadir_fit_method)method;
    question->confidence = settings->confidence;
    question->norm = settings->norm;
    question->set = settings->set == NADIR_SET_UNSAID ? NADIR_SET_NONRECT : settings->set;
    question->samples = settings->samples;
    question->concentration = settings->concentration;
    question->prior = !isnan(settings->prior) ? settings->prior : method == NADIR_FIT_FREE ? 0 : 2;
    const bool all = settings->successors == NULL ? data_kind != NADIR_DATA_SAMPLES
                                                  : strcmp(settings->successors, "all") == 0;
    question->domain = all ? NADIR_DOMAIN_SIMPLEX : NADIR_DOMAIN_SUPPORT;
    NADIR_CHECK(check_numbers(context, settings, question, data_kind));
cleanup:
    return status;
}
