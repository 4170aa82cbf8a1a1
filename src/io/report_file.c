/* report_file.c: nadir_report_write: a page about one problem, in a file; see report.h. */
#include "io/report.h"

#include <locale.h>
#include <math.h>
#include <string.h>

void nadir_report_settings_fill(nadir_report_settings *settings, size_t size)
{
    const nadir_report_settings made = {.time_limit = 60};
    nadir_settings_give(settings, size, &made, sizeof made);
}

/* What the caller leaves to the page. */
static void fill_words(nadir_report_settings *settings)
{
    settings->policy_words = settings->policy_words != NULL  ? settings->policy_words
                             : settings->policy_name != NULL ? settings->policy_name
                                                             : "optimal";
    settings->policy_name = settings->policy_name != NULL ? settings->policy_name : "the nominal optimum";
    settings->title = settings->title != NULL ? settings->title : "model";
    settings->model_words = settings->model_words != NULL ? settings->model_words : "model.npz";
    settings->preparation = settings->preparation != NULL ? settings->preparation : "";
}

/* The options of the ball, for commands: what differs from the model's own and from the defaults. */
static void fill_options(const nadir_report *report, char options[160])
{
    const nadir_model_data *view = &report->view;
    const nadir_ball *ball = &report->ball;
    char norm[32];
    int used = 0;
    options[0] = '\0';
    if (ball->norm != (isnan(view->norm) ? 2 : view->norm)) {
        used += snprintf(options, 160, " --norm %s",
                         ball->norm == NADIR_NORM_CHI2 ? "chi2" : nadir_report_short(ball->norm, 0, norm));
    }
    if (ball->set != (view->set != NADIR_SET_UNSAID ? view->set : NADIR_SET_NONRECT)) {
        used += snprintf(options + used, 160 - (size_t)used, " --set %s", nadir_set_name(ball->set));
    }
    if (ball->domain !=
        (view->domain != NADIR_DOMAIN_UNSAID ? view->domain : nadir_report_usual_domain(report))) {
        (void)snprintf(options + used, 160 - (size_t)used, " --domain %s", nadir_domain_name(ball->domain));
    }
}

static void fill_result(const nadir_report *report, nadir_report_result *made)
{
    const nadir_report_point *mark = &report->points[report->mark];
    const bool known = mark->policy.robust.stop_reason != NULL;
    const bool best = mark->best.robust.stop_reason != NULL;
    made->radius = mark->radius;
    made->nominal_return = report->nominal.nominal_return;
    made->robust_return = known ? mark->policy.robust.robust_return : NAN;
    made->lower_bound = known ? mark->policy.robust.lower_bound : -INFINITY;
    made->certified = known && mark->policy.robust.certified;
    made->optimum_nominal_return = best ? mark->optimum.nominal_return : NAN;
    made->optimum_robust_return = best ? mark->best.robust.robust_return : NAN;
    made->optimum_lower_bound = best ? mark->best.robust.lower_bound : -INFINITY;
    made->optimality_upper_bound = best ? mark->optimum.optimality_upper_bound : INFINITY;
    made->optimum_certified = best && mark->optimum.certified;
    made->radii = report->count;
    for (int64_t i = 0; i < report->count; i++) {
        const nadir_robust *robust = &report->points[i].policy.robust;
        made->proven += robust->stop_reason != NULL && robust->certified;
    }
    made->left_out = report->missing_count;
    made->time_ran_out = report->time_ran_out;
}

static nadir_status write_page(nadir_report *report, const char *path, int64_t *bytes)
{
    nadir_status status = NADIR_OK;
    nadir_output output = NADIR_OUTPUT_CLOSED;
    NADIR_CHECK(nadir_output_open(report->context, path, &output));
    nadir_report_page(report, &output);
    NADIR_CHECK(nadir_output_commit(report->context, &output));
    *bytes = output.written;
cleanup:
    nadir_output_close(report->context, &output);
    return status;
}

nadir_status nadir_report_write(nadir_context *context, nadir_model *model, const nadir_ball *ball,
                                const nadir_report_settings *settings, const char *path,
                                nadir_report_result *result)
{
    nadir_status status = NADIR_OK;
    char options[160];
    const double begun = nadir_clock_seconds();
    nadir_report_result made = {.size = sizeof made};
    nadir_report report = {.context = context, .model = model};
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(plain); /* points in numbers */
    nadir_report_settings_default(&report.settings);
    nadir_ball_default(&report.ball);
    if ((settings != NULL && !nadir_settings_copy(&report.settings, sizeof report.settings, settings)) ||
        (ball != NULL && !nadir_settings_copy(&report.ball, sizeof report.ball, ball))) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "settings or ball: the size is not set");
        goto cleanup;
    }
    fill_words(&report.settings);
    NADIR_CHECK(nadir_report_find(&report));
    fill_options(&report, options);
    report.settings.ball_words = report.settings.ball_words != NULL ? report.settings.ball_words : options;
    NADIR_CHECK(write_page(&report, path, &made.bytes));
    fill_result(&report, &made);
    made.seconds = nadir_clock_seconds() - begun;
    if (!nadir_result_copy(result, &made, sizeof made)) {
        status = nadir_fail(context, NADIR_ERROR_ARGUMENT, "result: the size is not set");
    }
cleanup:
    nadir_report_clear(&report);
    (void)uselocale(before);
    freelocale(plain);
    return status;
}
