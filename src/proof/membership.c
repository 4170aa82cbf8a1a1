/* membership.c: whether a kernel lies in the set; see membership.h. */
#include "proof/membership.h"
#include "core/round.h"
#include "linalg/distributed.h"
#include "linalg/threads.h"
#include "linalg/vector.h"
#include "model/kernel.h"
#include "model/landing.h"
#include "model/terminal.h"

#include <math.h>
#include <string.h>

/* What one thread has found in the rows it has read. */
typedef struct row_scan {
    nadir_explicit rows;
    double *difference; /* [states] of a row */
    double *distances;  /* of the rows of a state */
    double rounding;    /* that is forgiven */
    int64_t moved;      /* a pinned row that is not the nominal one; -1: none */
    nadir_membership found;
} row_scan;

/* The difference of a row from the nominal one, by merging both: into difference[]; returns its length. */
static int64_t subtract_nominal(const nadir_row *nominal, const nadir_row *row, double *difference,
                                double *off_support)
{
    int64_t length = 0;
    int64_t j = 0;
    for (int64_t i = 0; i < row->count; i++) {
        for (; j < nominal->count && nadir_row_column(nominal, j) < row->columns[i]; j++) {
            difference[length++] = -nominal->values[j];
        }
        const bool known = j < nominal->count && nadir_row_column(nominal, j) == row->columns[i];
        const double phat = known ? nominal->values[j] : 0;
        if (phat == 0) {
            *off_support = fmax(*off_support, fabs(row->values[i]));
        }
        difference[length++] = row->values[i] - phat;
        j += known;
    }
    for (; j < nominal->count; j++) {
        difference[length++] = -nominal->values[j];
    }
    return length;
}

/* The same numbers, bit for bit. */
static bool are_same(const nadir_row *nominal, const nadir_row *row)
{
    const size_t bytes = (size_t)row->count * sizeof *row->values;
    return nominal->count == row->count && memcmp(nominal->values, row->values, bytes) == 0 &&
           (nominal->columns == NULL ||
            memcmp(nominal->columns, row->columns, (size_t)row->count * sizeof *row->columns) == 0);
}

/* Sum and smallest of a dense row, and its difference from the nominal one into difference[]. */
static void subtract_dense(int64_t states, const double *nominal, const double *row, double *sum,
                           double *minimum, double *difference)
{
    enum { LANES = 4 };
    double lows[LANES] = {INFINITY, INFINITY, INFINITY, INFINITY};
    double sums[LANES] = {0};
    int64_t t = 0;
    for (; t + LANES <= states; t += LANES) {
        for (int j = 0; j < LANES; j++) {
            difference[t + j] = row[t + j] - nominal[t + j];
            lows[j] = row[t + j] < lows[j] ? row[t + j] : lows[j];
            sums[j] += row[t + j];
        }
    }
    for (; t < states; t++) {
        difference[t] = row[t] - nominal[t];
        lows[0] = row[t] < lows[0] ? row[t] : lows[0];
        sums[0] += row[t];
    }
    *sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    *minimum = fmin(fmin(lows[0], lows[1]), fmin(lows[2], lows[3]));
}

/* The largest entry of a dense row where the nominal one has none. */
static double largest_off_support(int64_t states, const double *nominal, const double *row)
{
    double off = 0;
    for (int64_t t = 0; t < states; t++) {
        const double entry = nominal[t] == 0 ? fabs(row[t]) : 0;
        off = entry > off ? entry : off;
    }
    return off;
}

static void note_minimum(int64_t row, double minimum, row_scan *self)
{
    if (minimum < self->found.minimum) {
        self->found.minimum = minimum;
        self->found.minimum_row = row;
    }
}

/* Sum and smallest entry of a row; those of terminal states are empty. */
static void note_row(int64_t row, double sum, double minimum, row_scan *self)
{
    const nadir_model *model = nadir_kernel_model(self->rows.kernel);
    const bool empty = model->terminal != NULL && nadir_model_ends(model, nadir_model_row_state(model, row));
    self->found.row_sum = fmax(self->found.row_sum, fabs(sum - (empty ? 0 : 1)));
    note_minimum(row, minimum, self);
}

/* By how much a value is beyond a bound of its entry: bounds below 1e-3 count in shares of 1e-3 of them, so that no interval
 * is narrower than what is let pass (NADIR_MEMBERSHIP_OUTSIDE). */
static double beyond(double off, double bound)
{
    return off > 0 && bound < 1e-3 ? off / bound * 1e-3 : off;
}

/* By how much entries leave the box; successors that the row does not list have its lower bound above 0. */
static void look_at_box(const nadir_model *model, const nadir_uncertainty *set, int64_t row,
                        const nadir_row *entries, row_scan *self)
{
    int64_t place = 0;
    double most = 0;
    for (int64_t i = model->row_starts[row]; i < model->row_starts[row + 1]; i++) {
        const bool listed = nadir_row_seek(entries, model->columns[i], &place);
        const double value = listed ? entries->values[place] : 0;
        most = fmax(most, beyond(set->lower[i] - value, set->lower[i]));
        most = fmax(most, beyond(value - set->upper[i], set->upper[i]));
    }
    if (most > self->found.outside) {
        self->found.outside = most;
        self->found.outside_row = row;
    }
}

/* |Delta / w|_2 of a row: entries are forgiven two roundings of their own, and those of weight 0 what all are. */
static double weighted_distance(const nadir_model *model, const nadir_uncertainty *set, int64_t row,
                                const nadir_row *nominal, const nadir_row *entries, row_scan *self)
{
    const double *weights = set->weights + nadir_landing_entry(model, row);
    int64_t place = 0;
    for (int64_t i = 0; i < nominal->count; i++) {
        const double phat = nominal->values[i];
        const bool listed = nadir_row_seek(entries, (int32_t)nadir_row_column(nominal, i), &place);
        const double value = listed ? entries->values[place] : 0;
        const double grain = weights[i] > 0 ? 2 * NADIR_ROUND_UNIT * fmax(phat, value)
                                            : fmax(phat, value) * NADIR_MEMBERSHIP_ROUNDING;
        const double change = fmax(fabs(value - phat) - grain, 0);
        self->difference[i] = change > 0 ? change / weights[i] : 0; /* of weight 0: infinity */
    }
    return nadir_norm_short(nominal->count, self->difference, 2);
}

/* Distance of one row; its sum and entries join the scan. */
static double look_at_row(const nadir_model *model, const nadir_uncertainty *set, int64_t row, row_scan *self)
{
    const double p = set->p;
    if (nadir_kernel_is_nominal(self->rows.kernel, row)) {
        self->found.row_sum = fmax(self->found.row_sum,
                                   fmax(fabs(1 - model->limits.sum_low), fabs(model->limits.sum_high - 1)));
        note_minimum(row, nadir_model_row_minimum(model, row), self);
        return 0;
    }
    const nadir_row nominal = nadir_model_row(model, row);
    const double *whole = nadir_explicit_dense_row(&self->rows, row);
    double sum = 0;
    double minimum;
    if (whole != NULL && nominal.columns == NULL && set->weights == NULL) {
        subtract_dense(model->states, nominal.values, whole, &sum, &minimum, self->difference);
        if (!(nadir_model_row_minimum(model, row) > 0)) {
            self->found.off_support =
                fmax(self->found.off_support, largest_off_support(model->states, nominal.values, whole));
        }
        note_row(row, sum, minimum, self);
        return nadir_norm_short(model->states, self->difference, p);
    }
    const nadir_row entries = nadir_explicit_row(&self->rows, row);
    minimum = entries.count < nadir_model_total(model) ? 0 : INFINITY;
    for (int64_t i = 0; i < entries.count; i++) {
        sum += entries.values[i];
        minimum = fmin(minimum, entries.values[i]);
    }
    note_row(row, sum, minimum, self);
    if (set->lower != NULL) { /* models with a box have CSR rows */
        look_at_box(model, set, row, &entries, self);
    }
    if (are_same(&nominal, &entries)) {
        return 0;
    }
    const int64_t length = subtract_nominal(&nominal, &entries, self->difference, &self->found.off_support);
    return set->weights != NULL ? weighted_distance(model, set, row, &nominal, &entries, self)
                                : nadir_norm_short(length, self->difference, p);
}

/* What the set asks of the rows of a kernel. */
typedef struct set_bounds {
    const nadir_model *model;
    const nadir_uncertainty *set;
    double factor;
} set_bounds;

/* The distance of rows first .. end - 1 of a state, which begins with row `start`, each divided by its scale.
 */
static double measure_group(const set_bounds *own, int64_t start, int64_t first, int64_t end, row_scan *self)
{
    for (int64_t row = first; row < end; row++) {
        const double scale = nadir_uncertainty_scale(own->set, row);
        double *distance = &self->distances[row - start];
        if (scale > 0) {
            *distance /= scale;
            self->rounding = fmax(self->rounding, NADIR_MEMBERSHIP_ROUNDING / scale);
        } else if (*distance > 0) { /* a pinned row moved */
            self->moved = row;
        }
    }
    return self->moved >= 0 ? INFINITY
                            : nadir_norm_short(end - first, self->distances + (first - start), own->set->p);
}

/* A group of rows, which begins with row `first`, within its radius. */
static void judge_group(double distance, double radius, int64_t first, row_scan *self)
{
    const double beyond = distance - radius * (1 + NADIR_MEMBERSHIP_ROUNDING) - self->rounding;
    const double excess = beyond > 0 ? (radius > 0 ? beyond / radius : INFINITY) : 0;
    self->found.distance = fmax(self->found.distance, distance);
    if (excess > self->found.excess) {
        self->found.excess = excess;
        self->found.excess_row = self->moved >= 0 ? self->moved : first;
    }
}

/* The rows of one state; of a set that all rows share their distance alone, which is returned. */
static double look_at_state(const set_bounds *own, int64_t s, row_scan *self)
{
    const nadir_uncertainty *set = own->set;
    const int64_t start = own->model->state_rows[s];
    const int64_t end = own->model->state_rows[s + 1];
    for (int64_t row = start; row < end; row++) {
        self->distances[row - start] = look_at_row(own->model, set, row, self);
    }
    if (set->set == NADIR_SET_NONRECT) {
        return measure_group(own, start, start, end, self);
    }
    const int64_t step = set->set == NADIR_SET_S ? end - start : 1;
    for (int64_t row = start; row < end; row += step) {
        self->rounding = 0;
        self->moved = -1;
        const double distance = measure_group(own, start, row, row + step, self);
        judge_group(distance, own->factor * nadir_uncertainty_radius(set, s, row), row, self);
    }
    return 0;
}

/* The scan of a thread joins that of all. */
static void join(const row_scan *part, row_scan *all)
{
    const nadir_membership *from = &part->found;
    nadir_membership *to = &all->found;
    to->row_sum = fmax(to->row_sum, from->row_sum);
    to->off_support = fmax(to->off_support, from->off_support);
    to->distance = fmax(to->distance, from->distance);
    note_minimum(from->minimum_row, from->minimum, all);
    if (from->outside > to->outside) {
        to->outside = from->outside;
        to->outside_row = from->outside_row;
    }
    if (from->excess > to->excess) {
        to->excess = from->excess;
        to->excess_row = from->excess_row;
    }
    all->rounding = fmax(all->rounding, part->rounding);
    all->moved = all->moved >= 0 ? all->moved : part->moved;
}

static const row_scan empty_scan = {
    .moved = -1, .found = {.minimum = INFINITY, .minimum_row = -1, .excess_row = -1, .outside_row = -1}};

/* distances: [states] of a set that all rows share; all: the scan of all rows. */
static nadir_status look_at_states(nadir_context *context, const nadir_kernel *kernel, const set_bounds *self,
                                   double *distances, row_scan *all)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = self->model;
    const int threads = nadir_threads_for(context, 4 * model->nonzeros);
    const int64_t actions = nadir_model_most_actions(model);
    row_scan *parts = NULL;
    NADIR_NEW_ZERO(context, parts, threads);
    for (int part = 0; part < threads; part++) {
        parts[part] = empty_scan;
        NADIR_CHECK(nadir_explicit_make(context, kernel, &parts[part].rows));
        NADIR_NEW(context, parts[part].difference, nadir_model_width(model));
        NADIR_NEW(context, parts[part].distances, actions);
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; part++) {
        const int64_t end = (part + 1) * model->states / threads;
        for (int64_t s = part * model->states / threads; s < end; s++) {
            if (nadir_progress_team(context, "checking the kernel", -1, &status)) {
                const double distance = look_at_state(self, s, &parts[part]);
                if (distances != NULL) {
                    distances[s] = distance;
                }
            }
        }
    }
    for (int part = 0; part < threads; part++) {
        join(&parts[part], all);
    }
cleanup:
    for (int part = 0; parts != NULL && part < threads; part++) {
        nadir_explicit_clear(context, &parts[part].rows);
        nadir_release(context, parts[part].difference);
        nadir_release(context, parts[part].distances);
    }
    nadir_release(context, parts);
    return status;
}

nadir_status nadir_membership_measure(nadir_context *context, const nadir_kernel *kernel,
                                      const nadir_uncertainty *uncertainty, double factor,
                                      nadir_membership *membership)
{
    nadir_status status = NADIR_OK;
    const nadir_model *model = nadir_kernel_model(kernel);
    const set_bounds run = {model, uncertainty, factor};
    row_scan all = empty_scan;
    double *distances = NULL;
    if (uncertainty->set == NADIR_SET_NONRECT) {
        NADIR_NEW(context, distances, model->states);
    }
    NADIR_CHECK(look_at_states(context, kernel, &run, distances, &all));
    if (distances != NULL) { /* all rows of all processes within one radius */
        double distance = INFINITY;
        bool finite = all.moved < 0; /* an entry of weight 0 that moved is infinitely far */
        for (int64_t s = 0; s < model->states && uncertainty->weights != NULL; s++) {
            finite = finite && isfinite(distances[s]);
        }
        if (nadir_allreduce_and(context, finite)) {
            NADIR_CHECK(nadir_norm_p(context, model->states, distances, uncertainty->p, &distance));
        }
        all.rounding = nadir_allreduce_maximum(context, all.rounding);
        judge_group(distance, factor * uncertainty->radius, 0, &all);
    }
    *membership = all.found;
    membership->row_sum = nadir_allreduce_maximum(context, membership->row_sum);
    membership->off_support = nadir_allreduce_maximum(context, membership->off_support);
    membership->minimum = nadir_allreduce_minimum(context, membership->minimum);
    membership->distance = nadir_allreduce_maximum(context, membership->distance);
    membership->excess = nadir_allreduce_maximum(context, membership->excess);
    membership->excess_row =
        membership->excess > 0 && membership->excess_row < 0 ? 0 : membership->excess_row;
cleanup:
    nadir_release(context, distances);
    return status;
}

nadir_status nadir_membership_check(nadir_context *context, const nadir_model *model,
                                    const nadir_uncertainty *uncertainty, const nadir_membership *membership)
{
    nadir_status status = NADIR_OK;
    char place[NADIR_LABEL_LENGTH];
    if (membership->row_sum > (double)nadir_model_total(model) * NADIR_MEMBERSHIP_ROUNDING) {
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION, "a row of the kernel sums to 1 only within %g",
                            membership->row_sum);
    } else if (membership->excess > 1e-9) {
        const int64_t row = membership->excess_row;
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                            "the kernel lies outside its ball by a share of %g (%s)", membership->excess,
                            nadir_model_label(model, nadir_model_row_state(model, row), row, place));
    } else if (uncertainty->domain != NADIR_DOMAIN_FREE && membership->minimum < 0) {
        const int64_t row = membership->minimum_row;
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION, "the kernel has the negative entry %g in %s",
                            membership->minimum,
                            nadir_model_label(model, nadir_model_row_state(model, row), row, place));
    } else if (uncertainty->domain == NADIR_DOMAIN_SUPPORT && membership->off_support > 0) {
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION,
                            "the kernel has a successor of probability %g that the nominal one does not have",
                            membership->off_support);
    } else if (membership->outside > NADIR_MEMBERSHIP_OUTSIDE) {
        const int64_t row = membership->outside_row;
        status = nadir_fail(context, NADIR_ERROR_VERIFICATION, "the kernel leaves its box in %s",
                            nadir_model_label(model, nadir_model_row_state(model, row), row, place));
    }
    return status;
}
