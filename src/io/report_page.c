/* report_page.c: the page itself; see report.h. What belongs to one radius has the class "at" and its place. */
#include "io/report.h"

#include "io/report_assets.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A difference of two policies in one state that is less is none. */
#define POLICY_DIFFERENCE 1e-3
/* A gain in the worst case that is a smaller part of the loss is none. */
#define GAIN 1e-6

typedef struct page {
    const nadir_report *report;
    nadir_output *out;
} page;

static void put(const page *self, const char *text)
{
    nadir_output_text(self->out, text);
}

static void put_number(const page *self, double value, int side)
{
    nadir_report_number(self->out, value, side);
}

static void put_plain(const page *self, double value)
{
    char text[32];
    put(self, nadir_report_short(value, 0, text));
}

static void put_count(const page *self, int64_t count, const char *one)
{
    nadir_output_format(self->out, "%" PRId64 " %s%s", count, one, count == 1 ? "" : "s");
}

static const nadir_report_point *get_mark(const page *self)
{
    return &self->report->points[self->report->mark];
}

/* "return", "probability" */
static const char *what(const page *self)
{
    return self->report->model->reaches ? "probability" : "return";
}

static bool has(const nadir_robust *robust)
{
    return robust->stop_reason != NULL;
}

static bool is_rigorous(const nadir_robust *robust)
{
    return robust->certificate[0] == 'r';
}

static void put_proven(const page *self, bool certified, bool rigorous)
{
    put(self, !certified ? "<td class=\"no\">not proven</td>"
              : rigorous ? "<td class=\"yes\">proven</td>"
                         : "<td class=\"yes\">proven, if iterations converged</td>");
}

static void open_at(const page *self, const char *tag, int64_t place)
{
    nadir_output_format(self->out, "<%s class=\"at\" data-at=\"%" PRId64 "\"%s>", tag, place,
                        place == self->report->mark ? "" : " hidden=\"\"");
}

/* The radius in a heading, for every place of the slider. */
static void put_radius(const page *self)
{
    for (int64_t i = 0; i < self->report->count; i++) {
        open_at(self, "span", i);
        put_plain(self, self->report->points[i].radius);
        put(self, "</span>");
    }
}

/* ---------------------------------------------------------------------------------------------- verdict */

/* "never below 25.64": what is guaranteed, or what was found where nothing is. */
static void put_floor(const page *self, const nadir_robust *robust)
{
    if (robust->certified) {
        put(self, "never below ");
        put_number(self, robust->robust_return, 0);
    } else if (isfinite(robust->lower_bound)) {
        put(self, "never below ");
        put_number(self, robust->lower_bound, -1);
        put(self, " (a kernel with ");
        put_number(self, robust->robust_return, 0);
        put(self, " was found)");
    } else {
        put(self, "without a guarantee: a kernel with ");
        put_number(self, robust->robust_return, 0);
        put(self, " was found");
    }
}

/* What a log promises. */
static void put_promise(const page *self)
{
    const nadir_fit_return_result *promise = self->report->settings.promise;
    char text[32];
    if (promise == NULL) {
        return;
    }
    put(self, "<p class=\"lead\">On these data, ");
    nadir_report_policy_name(self->report, self->out);
    put(self, " returns at least ");
    put_number(self, promise->guaranteed, -1);
    nadir_output_format(self->out, " with confidence %s; the estimate is ",
                        nadir_report_percent(promise->confidence, text));
    put_number(self, promise->nominal_return, 0);
    put(self, isfinite(promise->behaviour_return) ? ", and the policy that made the data has " : ".");
    if (isfinite(promise->behaviour_return)) {
        put_number(self, promise->behaviour_return, 0);
        put(self, ".");
    }
    put(self, "</p>");
}

static void put_first(const page *self)
{
    const nadir_report *report = self->report;
    const nadir_robust *robust = &get_mark(self)->policy.robust;
    const nadir_fit_result *data = report->settings.data;
    char text[32];
    if (report->settings.promise != NULL) { /* a second number, which asks more */
        put(self,
            "<p class=\"note\">There are two guarantees. The first is about the return of this policy alone; "
            "the second rests on a ball that holds the true kernel, so it is valid for every policy, which "
            "costs "
            "more. The ");
    } else {
        put(self, "<p class=\"lead\">The ");
    }
    put(self, report->model->reaches ? "probability to reach the goal under " : "return of ");
    nadir_report_policy_name(report, self->out);
    put(self, " is ");
    put_number(self, report->nominal.nominal_return, 0);
    put(self, data != NULL ? " if the estimated probabilities are right"
                           : " if the transition probabilities are right");
    if (!has(robust)) {
        put(self, "; what it is in the worst case was not found in the time given.</p>");
        return;
    }
    put(self, ", and ");
    put_floor(self, robust);
    if (data != NULL) {
        nadir_output_format(self->out, " for all probabilities that the data admit with confidence %s",
                            nadir_report_percent(data->confidence, text));
    } else {
        put(self, " if they are off by at most ");
        put_plain(self, robust->radius);
    }
    put(self, ".</p>");
}

/* What another policy would gain and cost. */
static void put_second(const page *self)
{
    const nadir_report_point *mark = get_mark(self);
    const nadir_robust *first = &mark->policy.robust;
    const nadir_robust *best = &mark->best.robust;
    const double gain = best->robust_return - first->robust_return;
    const double price = self->report->nominal.nominal_return - mark->optimum.nominal_return;
    char text[32];
    if (!has(first) || !has(best)) {
        return;
    }
    put(self, "<p>");
    if (gain > GAIN * fabs(first->penalty)) {
        put(self, "The <b class=\"two\">robust policy</b> is ");
        put_floor(self, best);
        const bool proven = best->certified; /* the worst case of the first is what was found, or worse */
        put(self, proven ? ": " : ". The worst kernels found leave it ");
        put_number(self, gain, 0);
        nadir_output_format(self->out,
                            proven ? " more in the worst case, %s of the loss"
                                   : " more (not proven), %s of the loss",
                            nadir_report_percent(gain / first->penalty, text));
        if (price > GAIN * fabs(first->penalty)) {
            put(self, ", for ");
            put_number(self, price, 0);
            put(self, " less if the probabilities are right");
        }
        put(self, ". ");
    } else {
        put(self, "No policy was found that does better in the worst case. ");
    }
    if (isfinite(mark->optimum.optimality_upper_bound)) {
        put(self, "No policy guarantees more than ");
        put_number(self, mark->optimum.optimality_upper_bound, mark->optimum.certified ? 0 : 1);
        put(self, mark->optimum.certified ? ", which is proven." : ".");
    }
    put(self, "</p>");
}

static void put_way(const page *self, const nadir_damage *damage)
{
    nadir_report_state(self->report, damage->state, self->out);
    put(self, ", ");
    nadir_report_action(self->report, damage->row, self->out);
    put(self, " → ");
    nadir_report_state(self->report, damage->to, self->out);
}

static void put_most(const page *self)
{
    const nadir_report_case *attacked = &get_mark(self)->policy;
    char text[32];
    if (attacked->listed > 0 && attacked->attacks[0].to >= 0) {
        put(self, "<p>The largest share of the damage is at ");
        put_way(self, &attacked->attacks[0]);
        nadir_output_format(self->out, "%s: %s of the loss.</p>",
                            attacked->attacks[0].is_new != 0 ? ", a transition that is not in the model" : "",
                            nadir_report_percent(attacked->attacks[0].share, text));
    }
}

static void put_tile(const page *self, const char *class, double value, int side, const char *label)
{
    char text[32];
    if (!isfinite(value)) {
        return;
    }
    (void)nadir_report_short(value, side, text);
    nadir_output_format(self->out, "<div class=\"tile %s\"><strong>%s%s</strong><span>%s</span></div>", class,
                        *text == '-' ? "−" : "", text + (*text == '-'), label);
}

static void put_tiles(const page *self)
{
    const nadir_report_point *mark = get_mark(self);
    const nadir_fit_return_result *promise = self->report->settings.promise;
    put(self, "<div class=\"tiles\">");
    if (promise != NULL) {
        char share[32];
        char label[64];
        (void)snprintf(label, sizeof label, "guaranteed with confidence %s",
                       nadir_report_percent(promise->confidence, share));
        put_tile(self, "one", promise->guaranteed, -1, label);
    }
    put_tile(self, "", self->report->nominal.nominal_return, 0, "if the probabilities are right");
    if (has(&mark->policy.robust)) {
        const nadir_robust *robust = &mark->policy.robust;
        put_tile(self, promise != NULL ? "" : "one",
                 robust->certified ? robust->robust_return : robust->lower_bound, robust->certified ? 0 : -1,
                 promise != NULL ? "guaranteed within the radius" : "guaranteed by the policy");
    }
    if (has(&mark->best.robust)) {
        const nadir_robust *robust = &mark->best.robust;
        put_tile(self, "two", robust->certified ? robust->robust_return : robust->lower_bound,
                 robust->certified ? 0 : -1,
                 promise != NULL ? "robust policy, within the radius" : "guaranteed by the robust policy");
        put_tile(self, "", promise == NULL ? mark->optimum.nominal_return : NAN, 0,
                 "robust policy, if they are right");
    }
    put(self, "</div>");
}

static void put_verdict(const page *self)
{
    put(self, "<section id=\"verdict\"><h2>Verdict</h2>");
    put_promise(self);
    put_first(self);
    put_second(self);
    put_most(self);
    put_tiles(self);
    if (self->report->example) {
        put(self, "<p class=\"note\">The radius 0.1 is an example: neither the model nor the command names "
                  "one. How far "
                  "the probabilities may be off is for you to say (<code>--radius</code>), or for data.</p>");
    }
    if (self->report->missing_count > 0) {
        nadir_output_format(self->out,
                            "<p class=\"note\">Not everything was found: see <a href=\"#proof\">what is "
                            "proven, and what is not</a>.</p>");
    }
    put(self, "</section>\n");
}

/* ------------------------------------------------------------------------------------------------ curve */

static void put_row(const page *self, const char *class, const char *name, const nadir_robust *robust,
                    double nominal)
{
    if (!has(robust)) {
        return;
    }
    nadir_output_format(self->out, "<tr><th scope=\"row\"><i class=\"key %s\"></i>", class);
    if (name == NULL) {
        nadir_report_policy_name(self->report, self->out);
    } else {
        put(self, name);
    }
    put(self, "</th>");
    nadir_report_cell(self->out, nominal, 0);
    nadir_report_cell(self->out, robust->lower_bound, robust->certified ? 0 : -1);
    nadir_report_cell(self->out, robust->robust_return, 0);
    put_proven(self, robust->certified, is_rigorous(robust));
    put(self, "</tr>");
}

/* The numbers of one radius. */
static void put_readout(const page *self, int64_t place)
{
    const nadir_report *report = self->report;
    const nadir_report_point *point = &report->points[place];
    const nadir_report_point *mark = get_mark(self);
    open_at(self, "div", place);
    put(self,
        "<div class=\"wide\"><table><thead><tr><th>policy</th><th class=\"n\">if right</th><th class=\"n\">"
        "guaranteed</th><th class=\"n\">worst found</th><th></th></tr></thead><tbody>");
    put_row(self, "one", NULL, &point->policy.robust, report->nominal.nominal_return);
    put_row(self, "two", "robust policy", &point->kept, mark->optimum.nominal_return);
    if (place != report->mark) {
        put_row(self, "limit", "the best policy for this radius", &point->best.robust,
                point->optimum.nominal_return);
    }
    put(self, "</tbody></table></div></div>");
}

static void put_legend(const page *self)
{
    const nadir_report_point *mark = get_mark(self);
    put(self, "<ul class=\"legend\"><li><i class=\"key one\"></i>");
    nadir_report_policy_name(self->report, self->out);
    put(self, "</li>");
    if (has(&mark->best.robust)) {
        put(self, "<li><i class=\"key two\"></i>robust policy, the best one for radius ");
        put_plain(self, mark->radius);
        put(self, "</li><li><i class=\"key limit\"></i>no policy guarantees more</li>");
    }
    put(self, "<li><i class=\"key mark\"></i>");
    put(self, self->report->settings.data != NULL ? "radius that the data support"
              : self->report->example             ? "radius of the verdict, an example"
                                                  : "radius of the verdict");
    put(self, "</li></ul>");
}

/* All radii, for reading and for the CSV. */
static void put_curve_table(const page *self)
{
    const nadir_report *report = self->report;
    put(self, "<details><summary>All radii</summary><div class=\"wide\"><table class=\"csv\" "
              "data-name=\"curve\"><thead><tr>"
              "<th class=\"n\">radius</th><th class=\"n\">policy: guaranteed</th><th class=\"n\">worst "
              "found</th><th></th>"
              "<th class=\"n\">robust policy: guaranteed</th><th class=\"n\">worst found</th><th></th>"
              "<th class=\"n\">no policy guarantees more than</th></tr></thead><tbody>");
    for (int64_t i = 0; i < report->count; i++) {
        const nadir_report_point *point = &report->points[i];
        put(self, "<tr>");
        nadir_report_cell(self->out, point->radius, 0);
        for (int which = 0; which < 2; which++) {
            const nadir_robust *robust = which == 0 ? &point->policy.robust : &point->kept;
            if (has(robust)) {
                nadir_report_cell(self->out, robust->lower_bound, robust->certified ? 0 : -1);
                nadir_report_cell(self->out, robust->robust_return, 0);
                put_proven(self, robust->certified, is_rigorous(robust));
            } else {
                put(self, "<td class=\"n\">–</td><td class=\"n\">–</td><td></td>");
            }
        }
        nadir_report_cell(self->out, has(&point->best.robust) ? point->optimum.optimality_upper_bound : NAN,
                          0);
        put(self, "</tr>");
    }
    put(self, "</tbody></table></div></details>");
}

static void put_curve(const page *self)
{
    put(self,
        "<section id=\"curve\"><h2>What if the model is worse than that?</h2><p>Each curve is the lowest ");
    put(self, what(self));
    put(self, " that any kernel within the radius gives. Shaded is what is not excluded by proof.</p>");
    put_legend(self);
    put(self, "<figure>");
    nadir_report_chart(self->report, 720, self->out);
    nadir_report_chart(self->report, 360, self->out);
    put(self, "</figure><h3>At radius ");
    put_radius(self);
    put(self, "</h3>");
    for (int64_t i = 0; i < self->report->count; i++) {
        put_readout(self, i);
    }
    put_curve_table(self);
    put(self, "</section>\n");
}

/* ----------------------------------------------------------------------------------------------- attack */

static void put_attack(const page *self, const char *name, const nadir_report_case *attacked)
{
    char text[32];
    if (attacked->listed == 0) {
        return;
    }
    nadir_output_format(self->out, "<table class=\"csv attack\" data-name=\"attack-%s\"><caption>against ",
                        name);
    if (*name == 'p') {
        nadir_report_policy_name(self->report, self->out);
    } else {
        put(self, "the best policy for this radius");
    }
    put(self,
        "</caption><thead><tr><th class=\"n\">share</th><th>state</th><th>action</th><th>from</th><th>to</th>"
        "<th class=\"n\">mass moved</th></tr></thead><tbody>");
    double rest = 1;
    for (int64_t i = 0; i < attacked->listed; i++) {
        const nadir_damage *damage = &attacked->attacks[i];
        rest -= damage->share;
        put(self, "<tr><td class=\"n\" data-v=\"");
        nadir_output_double(self->out, damage->share);
        nadir_output_format(self->out, "\"><i class=\"bar\" style=\"width:%.0f%%\"></i>%s</td><td>",
                            fmax(0, fmin(100 * damage->share, 100)),
                            nadir_report_percent(damage->share, text));
        nadir_report_state(self->report, damage->state, self->out);
        put(self, "</td><td>");
        nadir_report_action(self->report, damage->row, self->out);
        put(self, "</td><td>");
        nadir_report_state(self->report, damage->from, self->out);
        put(self, "</td><td>");
        nadir_report_state(self->report, damage->to, self->out);
        if (damage->moves > 1) {
            nadir_output_format(self->out, " and %" PRId64 " more", damage->moves - 1);
        }
        put(self, damage->is_new != 0 ? " <em>not in the model</em></td>" : "</td>");
        put(self, "<td class=\"n\" data-v=\"");
        nadir_output_double(self->out, damage->mass);
        nadir_output_format(self->out, "\">%s</td></tr>", nadir_report_percent(damage->mass, text));
    }
    put(self, "</tbody></table>");
    if (attacked->changed > attacked->listed) {
        nadir_output_format(self->out, "<p class=\"small\">%" PRId64 " of ", attacked->listed);
        put_count(self, attacked->changed, "pair");
        nadir_output_format(
            self->out, " of a state and an action are shown; the rest carries %s of the loss together.</p>",
            nadir_report_percent(fmax(rest, 0), text));
    }
}

static void put_attacks(const page *self)
{
    put(self, "<section id=\"attack\"><h2>Where the adversary strikes, at radius ");
    put_radius(self);
    put(self,
        "</h2><p>The worst kernel found moves probability from one successor to another. The share is the "
        "part of "
        "the loss that each pair of a state and an action carries; all of them add up to the whole.</p>");
    for (int64_t i = 0; i < self->report->count; i++) {
        const nadir_report_point *point = &self->report->points[i];
        open_at(self, "div", i);
        put(self, "<div class=\"wide\">");
        put_attack(self, "policy", &point->policy);
        put_attack(self, "robust", &point->best);
        put(self, "</div>");
        if (point->policy.listed == 0 && point->best.listed == 0) {
            put(self,
                point->radius > 0 ? "<p>Not known at this radius.</p>" : "<p>Nothing moves at radius 0.</p>");
        }
        put(self, "</div>");
    }
    put(self, "</section>\n");
}

/* --------------------------------------------------------------------------------------------- policies */

typedef struct difference {
    int64_t state;
    double visits;
} difference;

static int compare(const void *a, const void *b)
{
    const difference *one = a;
    const difference *two = b;
    if (one->visits != two->visits) {
        return one->visits < two->visits ? 1 : -1;
    }
    return one->state < two->state ? -1 : one->state > two->state;
}

/* The states where two policies differ by more than `least`, most visited first; *count of them. NULL: no memory, and
 * *count 0. */
static difference *find_differences(const page *self, const double *one, const double *two, double least,
                                    int64_t *count)
{
    const nadir_report *report = self->report;
    difference *made = nadir_allocate(report->context, (size_t)report->view.states, sizeof *made);
    *count = 0;
    for (int64_t s = 0; made != NULL && s < report->view.states; s++) {
        double distance = 0;
        for (int64_t row = report->view.state_rows[s]; row < report->view.state_rows[s + 1]; row++) {
            distance += fabs(one[row] - two[row]) / 2;
        }
        if (distance > least) {
            made[(*count)++] = (difference){s, report->visits[s]};
        }
    }
    if (made != NULL) {
        qsort(made, (size_t)*count, sizeof *made, compare);
    }
    return made;
}

static void put_actions(const page *self, int64_t state, const double *policy)
{
    enum { ACTIONS = 6 };
    int64_t shown = 0;
    char text[32];
    put(self, "<td>");
    for (int64_t row = self->report->view.state_rows[state]; row < self->report->view.state_rows[state + 1];
         row++) {
        if (policy[row] <= POLICY_DIFFERENCE) {
            continue;
        }
        if (shown++ == ACTIONS) {
            put(self, ", …");
            break;
        }
        put(self, shown > 1 ? ", " : "");
        nadir_report_action(self->report, row, self->out);
        if (policy[row] < 1 - POLICY_DIFFERENCE) {
            put(self, " ");
            put(self, nadir_report_percent(policy[row], text));
        }
    }
    put(self, "</td>");
}

/* What two policies do in the first states of a list. */
static void put_states(const page *self, const char *name, const difference *states, int64_t count,
                       const double *one, const double *two)
{
    char text[32];
    nadir_output_format(self->out,
                        "<div class=\"wide\"><table class=\"csv\" data-name=\"%s\"><thead><tr><th>state</th>"
                        "<th class=\"n\">time spent there</th><th><i class=\"key one\"></i>",
                        name);
    nadir_report_policy_name(self->report, self->out);
    put(self, "</th><th><i class=\"key two\"></i>robust policy</th></tr></thead><tbody>");
    for (int64_t i = 0; i < count && i < NADIR_REPORT_STATES; i++) {
        put(self, "<tr><td>");
        nadir_report_state(self->report, states[i].state, self->out);
        put(self, "</td><td class=\"n\" data-v=\"");
        nadir_output_double(self->out, states[i].visits);
        nadir_output_format(self->out, "\">%s</td>", nadir_report_percent(states[i].visits, text));
        put_actions(self, states[i].state, one);
        put_actions(self, states[i].state, two);
        put(self, "</tr>");
    }
    put(self, "</tbody></table></div>");
}

static void put_difference(const page *self, const nadir_report_point *point)
{
    int64_t count;
    const double *one = nadir_policy_probabilities(self->report->policy);
    const double *two = nadir_policy_probabilities(point->best_policy);
    difference *found = find_differences(self, one, two, POLICY_DIFFERENCE, &count);
    if (count == 0) {
        put(self, "<p>Both policies do the same everywhere.</p>");
    } else {
        put(self, "<p>They differ in ");
        put_count(self, count, "state");
        nadir_output_format(self->out, " of %" PRId64 ".", self->report->view.states);
        if (count > NADIR_REPORT_STATES) {
            nadir_output_format(self->out, " Here are the %d where the process is most of the time.",
                                NADIR_REPORT_STATES);
        }
        put(self, "</p>");
        put_states(self, "differences", found, count, one, two);
    }
    nadir_release(self->report->context, found);
}

/* Both policies of the verdict, state by state. */
static void put_whole(const page *self)
{
    int64_t count;
    const double *one = nadir_policy_probabilities(self->report->policy);
    const double *two = nadir_policy_probabilities(get_mark(self)->best_policy);
    difference *found = find_differences(self, one, two, -1, &count);
    put(self, "<details><summary>Both policies at radius ");
    put_plain(self, get_mark(self)->radius);
    put(self, count > NADIR_REPORT_STATES ? ", in the states that are visited most" : ", in every state");
    put(self, "</summary>");
    put_states(self, "policies", found, count, one, two);
    put(self, "</details>");
    nadir_release(self->report->context, found);
}

static void put_policies(const page *self)
{
    bool any = false;
    for (int64_t i = 0; i < self->report->count; i++) {
        any = any || self->report->points[i].best_policy != NULL;
    }
    if (!any) {
        return;
    }
    put(self, "<section id=\"policies\"><h2>What the robust policy for radius ");
    put_radius(self);
    put(self, " does differently</h2>");
    for (int64_t i = 0; i < self->report->count; i++) {
        open_at(self, "div", i);
        if (self->report->points[i].best_policy != NULL) {
            put_difference(self, &self->report->points[i]);
        } else {
            put(self, "<p>Not known at this radius.</p>");
        }
        put(self, "</div>");
    }
    if (get_mark(self)->best_policy != NULL) {
        put_whole(self);
    }
    put(self, "</section>\n");
}

/* ------------------------------------------------------------------------------------------------- sets */

static const char *say_set(int set)
{
    static const char *const words[] = {"one budget for the whole kernel", "a budget for each state",
                                        "a budget for each state and action"};
    return words[set];
}

/* Of a log: the three sets at the same confidence, for the policy. */
static void put_data_sets(const page *self, const nadir_fit_result *data)
{
    for (int set = 0; set < 3; set++) {
        const nadir_fit_guarantee *one = &data->sets[set];
        nadir_output_format(self->out, "<tr><td>%s</td>", say_set(set));
        nadir_report_cell(self->out, one->radius, 0);
        nadir_report_cell(self->out, one->lower_bound, one->certified ? 0 : -1);
        put_proven(self, one->certified, true);
        put(self, "</tr>");
    }
}

static void put_sets(const page *self)
{
    const nadir_report *report = self->report;
    const nadir_fit_result *data = report->settings.data;
    int64_t known = 0;
    for (int i = 0; i < 6; i++) {
        known += has(&report->sets[i / 3][i % 3]);
    }
    if (data == NULL && known < 3) {
        return;
    }
    put(self, "<section id=\"sets\"><h2>One budget, or one for each state</h2><p>");
    put(self,
        data != NULL
            ? "The same data make three sets of kernels. Each of them holds the true one with the same "
              "confidence, on its own."
            : "At the same radius the sets with many budgets hold the one with a single budget and much "
              "more, so that their worst case is never better. Data usually allow them a smaller radius.");
    put(self, "</p><div class=\"wide\"><table class=\"csv\" data-name=\"sets\"><thead><tr><th>set</th>");
    put(self, data != NULL ? "<th class=\"n\">radius</th><th class=\"n\">guaranteed</th><th></th>"
                           : "<th class=\"n\"><i class=\"key one\"></i>guaranteed by the policy</th><th></th>"
                             "<th class=\"n\"><i class=\"key two\"></i>by the robust policy</th><th></th>");
    put(self, "</tr></thead><tbody>");
    if (data != NULL) {
        put_data_sets(self, data);
    }
    for (int set = 0; set < 3 && data == NULL; set++) {
        nadir_output_format(self->out, "<tr><td>%s</td>", say_set(set));
        for (int which = 0; which < 2; which++) {
            const nadir_robust *robust = &report->sets[which][set];
            if (has(robust)) {
                nadir_report_cell(self->out, robust->lower_bound, robust->certified ? 0 : -1);
                put_proven(self, robust->certified, is_rigorous(robust));
            } else {
                put(self, "<td class=\"n\">–</td><td></td>");
            }
        }
        put(self, "</tr>");
    }
    put(self, "</tbody></table></div></section>\n");
}

/* ------------------------------------------------------------------------------------------ assumptions */

static void put_term(const page *self, const char *term)
{
    nadir_output_format(self->out, "<dt>%s</dt><dd>", term);
}

static void put_ball(const page *self)
{
    const nadir_ball *ball = &self->report->ball;
    char text[32];
    put_term(self, "kernels");
    nadir_output_format(self->out, "all within the radius of the nominal one, %s, by the ",
                        say_set((int)ball->set - (int)NADIR_SET_NONRECT));
    if (isinf(ball->norm)) {
        put(self, "largest change of a probability (norm inf). ");
    } else if (ball->norm == NADIR_NORM_CHI2) {
        put(self, "squares of the changes over nominal probabilities (norm chi2). ");
    } else {
        nadir_output_format(self->out, "norm %s of the changes. ", nadir_report_short(ball->norm, 0, text));
    }
    put(self, "The adversary chooses one kernel, once; the policy does not see it.");
    if (ball->scales != NULL) {
        int64_t pinned = 0;
        for (int64_t row = 0; row < self->report->view.rows; row++) {
            pinned += ball->scales[row] == 0;
        }
        put(self, " Pairs of a state and an action have scales of their own");
        nadir_output_format(self->out, pinned > 0 ? "; %" PRId64 " of %" PRId64 " cannot change." : ".",
                            pinned, self->report->view.rows);
    }
    put(self, "</dd>");
    put_term(self, "new transitions");
    put(self, ball->domain == NADIR_DOMAIN_SIMPLEX
                  ? "allowed: a kernel may lead where the model does not (<code>--domain support</code> "
                    "forbids that)."
              : ball->domain == NADIR_DOMAIN_SUPPORT ? "not allowed: only transitions of the model change."
              : ball->domain == NADIR_DOMAIN_BOX
                  ? "as far as the intervals of the model allow them."
                  : "allowed, and probabilities may become negative: such a worst case "
                    "need not be a process.");
    put(self, "</dd>");
}

static void put_rewards(const page *self)
{
    nadir_unseen unseen;
    double value;
    const nadir_reward_kind kind = nadir_model_rewards(self->report->model, &unseen, &value);
    put_term(self, "rewards");
    if (self->report->model->reaches) {
        put(self, "none: what counts is whether the goal is reached.</dd>");
    } else if (kind == NADIR_REWARDS_SEPARABLE || kind == NADIR_REWARDS_LANDING) {
        nadir_output_format(
            self->out,
            "paid where one lands: a kernel that moves probability moves them too. A successor "
            "without a reward pays by the rule “%s”.</dd>",
            nadir_unseen_name(unseen));
    } else {
        put(self, "belong to a state and an action, whatever comes next: no kernel changes them.</dd>");
    }
}

/* Where one starts, and how long it counts. */
static void put_start(const page *self)
{
    enum { SHOWN = 4 };
    const nadir_model_data *view = &self->report->view;
    int64_t count = 0;
    int64_t shown = 0;
    bool alike = true;
    char text[32];
    for (int64_t s = 0; s < view->states; s++) {
        count += view->initial[s] > 0;
        alike = alike && fabs(view->initial[s] * (double)view->states - 1) < 1e-9;
    }
    put_term(self, "start");
    if (alike && view->states > 1) {
        nadir_output_format(self->out, "each of the %" PRId64 " states alike", view->states);
    }
    for (int64_t s = 0; s < view->states && shown < SHOWN && !(alike && view->states > 1); s++) {
        if (view->initial[s] > 0) {
            put(self, shown++ > 0 ? ", " : "");
            nadir_report_state(self->report, s, self->out);
            if (count > 1) {
                nadir_output_format(self->out, " %s", nadir_report_percent(view->initial[s], text));
            }
        }
    }
    if (shown == SHOWN && count > SHOWN) {
        put(self, ", and ");
        put_count(self, count - SHOWN, "more state");
    }
    put(self, ".</dd>");
    put_term(self, "discount");
    if (view->discount < 1) {
        nadir_output_format(self->out, "%s.</dd>", nadir_report_short(view->discount, 0, text));
    } else {
        put(self, "none: all that comes until the end counts in full.</dd>");
    }
}

static void put_ends(const page *self)
{
    nadir_model_facts facts;
    nadir_model_facts_default(&facts);
    if (self->report->ball.domain == NADIR_DOMAIN_SUPPORT || self->report->view.discount >= 1 ||
        nadir_model_facts_compute(self->report->context, self->report->model, &facts) != NADIR_OK ||
        facts.absorbing_states <= facts.terminal_states) {
        return;
    }
    put_term(self, "ends");
    put_count(self, facts.absorbing_states - facts.terminal_states, "state");
    put(self, " of the model cannot be left, but the kernels of the ball may lead out of them.</dd>");
}

static void put_data(const page *self)
{
    const nadir_fit_result *data = self->report->settings.data;
    const nadir_model_data *view = &self->report->view;
    char text[32];
    if (data != NULL) {
        put_term(self, "data");
        nadir_output_format(self->out, "%" PRId64 " %s", data->observations,
                            strcmp(data->data, "samples") == 0 ? "lines of posterior samples"
                                                               : "transitions");
        if (data->episodes > 0) {
            nadir_output_format(self->out, " in %" PRId64 " episodes", data->episodes);
        }
        nadir_output_format(self->out, "; a pair of a state and an action was seen %s times (median).</dd>",
                            nadir_report_short(data->visits_median, 0, text));
        const int64_t unseen = data->rows - data->rows_visited - (data->terminal ? 1 : 0);
        put_term(self, "pairs without data");
        if (unseen > 0) {
            nadir_output_format(self->out,
                                "%" PRId64 " of %" PRId64 ". For them any distribution may be true.</dd>",
                                unseen, data->rows);
        } else {
            put(self, "none.</dd>");
        }
        put_term(self, "prior and confidence");
        if (data->samples == 0) {
            nadir_output_format(self->out,
                                "no prior; the ball holds the true kernel with confidence %s, whatever it "
                                "is.</dd>",
                                nadir_report_percent(data->confidence, text));
        } else {
            nadir_output_format(
                self->out, "%s. If that is right, the ball holds the true kernel with confidence ",
                isnan(data->prior) ? "that of the data" : "Dirichlet, alike for all successors of a pair");
            nadir_output_format(self->out, "%s.</dd>", nadir_report_percent(data->confidence, text));
        }
    } else if (view->promise != NADIR_BALL_UNSAID && self->report->ball.radius_count > 0) {
        put_term(self, "the ball of this model");
        if (view->promise == NADIR_BALL_OF_KERNEL) {
            nadir_output_format(self->out,
                                "of its own radius, holds the true kernel with confidence %s.</dd>",
                                nadir_report_percent(view->confidence, text));
        } else {
            put(self, "explains what nadir fit promised of one policy. It does not hold the true kernel, and "
                      "does not compare "
                      "policies.</dd>");
        }
    }
}

static void put_assumptions(const page *self)
{
    put(self, "<section id=\"assumptions\"><h2>What is assumed</h2><dl>");
    put_data(self);
    put_ball(self);
    put_rewards(self);
    put_start(self);
    put_ends(self);
    put(self, "</dl></section>\n");
}

/* ------------------------------------------------------------------------------------------------ proof */

static void put_item(const page *self, const char *what_is, const nadir_robust *robust)
{
    if (!has(robust)) {
        return;
    }
    nadir_output_format(self->out, "<li class=\"%s\">The worst %s of %s at radius ",
                        robust->certified ? "yes" : "no", what(self), what_is);
    put_plain(self, robust->radius);
    put(self, " is ");
    put_number(self, robust->robust_return, 0);
    if (robust->certified) {
        put(self, is_rigorous(robust) ? ": proven, with all rounding."
                                      : ": proven, if iterations converged as they seem to.");
    } else {
        put(self, " or less: not proven. It is not below ");
        put_number(self, robust->lower_bound, -1);
        put(self, isfinite(robust->lower_bound) ? ", which is proven." : ": nothing is proven.");
    }
    put(self, "</li>");
}

static void put_proof(const page *self)
{
    const nadir_report *report = self->report;
    const nadir_report_point *mark = get_mark(self);
    int64_t known = 0;
    int64_t proven = 0;
    for (int64_t i = 0; i < report->count; i++) {
        known += has(&report->points[i].policy.robust);
        proven += has(&report->points[i].policy.robust) && report->points[i].policy.robust.certified;
    }
    put(self, "<section id=\"proof\"><h2>What is proven, and what is not</h2><ul class=\"checks\">");
    put_item(self, "the policy", &mark->policy.robust);
    put_item(self, "the robust policy", &mark->best.robust);
    if (has(&mark->best.robust)) {
        nadir_output_format(self->out, "<li class=\"%s\">That no policy does better is %s</li>",
                            mark->optimum.certified ? "yes" : "no",
                            mark->optimum.certified ? "proven." : "proven up to the bound above alone.");
    }
    if (report->count > 1) {
        nadir_output_format(self->out,
                            "<li class=\"%s\">The curve of the policy is proven at %" PRId64 " of %" PRId64
                            " radii%s",
                            proven == report->count ? "yes" : "no", proven, report->count,
                            proven == known ? "" : "; elsewhere its shaded edge is");
        put(self, known == report->count ? ".</li>"
                                         : "; the radii that are missing were not reached in time.</li>");
    }
    if (report->settings.promise != NULL) {
        const nadir_fit_return_result *promise = report->settings.promise;
        put(self, "<li class=\"no\">The grounds of the guarantee with confidence: ");
        put(self,
            isnan(promise->weight)
                ? "of a policy made elsewhere, it holds if the prior is right (rows independent, Dirichlet)."
                : "of a policy chosen on these data, it is first order, measured in simulations, no "
                  "theorem.");
        put(self, "</li>");
    }
    put(self, "<li class=\"no\">No proof says that the true kernel lies within the radius, that the process "
              "has no memory "
              "beyond its states, or that the rewards are right.</li>");
    for (int64_t i = 0; i < report->missing_count; i++) {
        put(self, "<li class=\"no\">Left out: ");
        nadir_report_text(self->out, report->missing[i], 200);
        put(self, ".</li>");
    }
    put(self, "</ul></section>\n");
}

/* --------------------------------------------------------------------------------------------- commands */

/* radius: NaN: the command names none; ball: it takes the options of the ball. */
static void put_command(const page *self, const char *says, const char *command, bool ball,
                        const char *policy, const char *more, double radius)
{
    const nadir_report_settings *settings = &self->report->settings;
    nadir_output_format(self->out, "<dt>%s</dt><dd><code>nadir %s ", says, command);
    nadir_report_text(self->out, settings->model_words, INT64_MAX);
    nadir_report_text(self->out, ball ? settings->ball_words : "", INT64_MAX);
    if (policy != NULL) {
        put(self, " --policy ");
        nadir_report_text(self->out, policy, INT64_MAX);
    }
    if (!isnan(radius)) {
        put(self, " --radius ");
        nadir_output_double(self->out, radius);
    }
    put(self, more);
    put(self, "</code></dd>");
}

static void put_commands(const page *self)
{
    const nadir_report *report = self->report;
    const nadir_report_settings *settings = &report->settings;
    const bool alone = report->ball.radius_count <= 1; /* one number names the radius */
    const double radius = alone ? get_mark(self)->radius : NAN;
    put(self, "<section id=\"commands\"><h2>The commands behind the numbers</h2><p>These commands print the "
              "numbers of "
              "this page, with all "
              "digits by <code>--verbose</code> or <code>--json</code>.</p><dl class=\"commands\">");
    for (const char *line = settings->preparation; *line != '\0';) {
        const int64_t length = (int64_t)strcspn(line, "\n");
        put(self,
            line == settings->preparation ? "<dt>first, the files</dt><dd><code>" : "<dt></dt><dd><code>");
        nadir_report_line(self->out, line, length);
        put(self, "</code></dd>");
        line += line[length] == '\n' ? length + 1 : length;
    }
    put_command(self, "the policy, and who harms it", "evaluate", true, settings->policy_words, " --explain",
                radius);
    put_command(self, "the robust policy", "optimize", true, NULL, " --out robust.csv", radius);
    put_command(self, "and who harms it", "evaluate", true, "robust.csv", " --explain", radius);
    if (alone) {
        nadir_output_format(self->out, "<dt>the curves</dt><dd><code>nadir sweep ");
        nadir_report_text(self->out, settings->model_words, INT64_MAX);
        nadir_report_text(self->out, settings->ball_words, INT64_MAX);
        put(self, " --policy ");
        nadir_report_text(self->out, settings->policy_words, INT64_MAX);
        put(self, " --policy robust.csv --radius ");
        nadir_output_double(self->out, settings->radii_first);
        put(self, ":");
        nadir_output_double(self->out, settings->radii_last);
        nadir_output_format(self->out, ":%" PRId64 "</code></dd>", settings->radii_count);
    }
    put_command(self, "the proof checked by other code", "evaluate", true, settings->policy_words,
                " --kernel worst.npz --witness worst.json", radius);
    put_command(self, "", "verify", false, settings->policy_words, " --kernel worst.npz --witness worst.json",
                NAN);
    put(self, "</dl></section>\n");
}

/* ------------------------------------------------------------------------------------------------- data */

static void put_json_number(const page *self, const char *key, double value)
{
    nadir_output_format(self->out, "\"%s\":", key);
    if (isfinite(value)) {
        nadir_output_double(self->out, value);
    } else {
        put(self, "null");
    }
}

static void put_json_robust(const page *self, const char *key, const nadir_robust *robust)
{
    nadir_output_format(self->out, ",\"%s\":", key);
    if (!has(robust)) {
        put(self, "null");
        return;
    }
    put(self, "{");
    put_json_number(self, "robust_return", robust->robust_return);
    put(self, ",");
    put_json_number(self, "lower_bound", robust->lower_bound);
    put(self, ",");
    put_json_number(self, "upper_bound", robust->upper_bound);
    nadir_output_format(self->out, ",\"certified\":%s}", robust->certified ? "true" : "false");
}

/* The numbers of the page for programs, with all their digits. */
static void put_json(const page *self)
{
    const nadir_report *report = self->report;
    put(self, "<script type=\"application/json\" id=\"numbers\">{\"policy\":");
    nadir_report_json_text(self->out, report->settings.policy_name);
    nadir_output_format(self->out, ",\"states\":%" PRId64 ",\"mark\":%" PRId64 ",", report->view.states,
                        report->mark);
    put_json_number(self, "nominal_return", report->nominal.nominal_return);
    put(self, ",");
    put_json_number(self, "promise",
                    report->settings.promise != NULL ? report->settings.promise->guaranteed : NAN);
    put(self, ",\"points\":[");
    for (int64_t i = 0; i < report->count; i++) {
        const nadir_report_point *point = &report->points[i];
        put(self, i > 0 ? ",\n{" : "{");
        put_json_number(self, "radius", point->radius);
        put_json_robust(self, "evaluate", &point->policy.robust);
        put_json_robust(self, "robust_policy", &point->kept);
        put_json_robust(self, "optimize", &point->best.robust);
        if (has(&point->best.robust)) {
            put(self, ",");
            put_json_number(self, "optimum_nominal_return", point->optimum.nominal_return);
            put(self, ",");
            put_json_number(self, "optimality_upper_bound", point->optimum.optimality_upper_bound);
        }
        put(self, "}");
    }
    put(self, "]");
    for (int i = 0; i < 3; i++) {
        put_json_robust(self, nadir_set_name((nadir_set)(NADIR_SET_NONRECT + i)), &report->sets[0][i]);
    }
    put(self, ",\"left_out\":[");
    for (int64_t i = 0; i < report->missing_count; i++) {
        put(self, i > 0 ? "," : "");
        nadir_report_json_text(self->out, report->missing[i]);
    }
    put(self, "]}</script>\n");
}

/* ------------------------------------------------------------------------------------------------- page */

static void put_head(const page *self)
{
    const nadir_report *report = self->report;
    put(self, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
              "'unsafe-inline'; "
              "script-src 'unsafe-inline'; img-src data:\"><link rel=\"icon\" href=\"data:,\"><title>");
    nadir_report_text(self->out, report->settings.title, 80);
    put(self, ": robustness report</title><style>\n");
    put(self, (const char *)nadir_report_css);
    put(self, "</style></head><body><main><header><p class=\"kicker\">Robustness report</p><h1><bdi>");
    nadir_report_text(self->out, report->settings.title, 80);
    put(self, "</bdi></h1><p>");
    put_count(self, report->view.states, "state");
    nadir_output_format(self->out, ", %" PRId64 " pairs of a state and an action; ", report->view.rows);
    nadir_report_policy_name(report, self->out);
    put(self, "</p></header>\n");
}

static void put_slider(const page *self)
{
    nadir_output_format(self->out, "<div id=\"slider\" hidden><label>Radius <b>");
    put_radius(self);
    nadir_output_format(self->out,
                        "</b> <input type=\"range\" min=\"0\" max=\"%" PRId64 "\" value=\"%" PRId64
                        "\" step=\"1\" aria-label=\"Radius\"></label><span>",
                        self->report->count - 1, self->report->mark);
    for (int64_t i = 0; i < self->report->count; i++) {
        const nadir_report_point *point = &self->report->points[i];
        open_at(self, "span", i);
        if (has(&point->policy.robust)) {
            put(self, "<i class=\"key one\"></i>");
            put_number(self, point->policy.robust.robust_return, 0);
        }
        if (has(&point->kept)) {
            put(self, " <i class=\"key two\"></i>");
            put_number(self, point->kept.robust_return, 0);
        }
        put(self, "</span>");
    }
    put(self, "</span></div>\n");
}

void nadir_report_page(const nadir_report *report, nadir_output *output)
{
    const page self = {report, output};
    put_head(&self);
    put_verdict(&self);
    put_curve(&self);
    put_attacks(&self);
    put_policies(&self);
    put_sets(&self);
    put_assumptions(&self);
    put_proof(&self);
    put_commands(&self);
    nadir_output_format(
        output,
        "<footer>Made by nadir %s. This page holds everything that it shows and fetches nothing.</footer>",
        nadir_version());
    put_slider(&self);
    put(&self, "</main>\n");
    put_json(&self);
    put(&self, "<script>\n");
    put(&self, (const char *)nadir_report_js);
    put(&self, "</script></body></html>\n");
}
