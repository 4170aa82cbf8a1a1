/*
 * sweep_checkpoint.c: radii that nadir sweep has finished, in a file to go on from: whole at every moment.
 *
 * Lines of words: the question in the first two, then one line for each curve and radius. Numbers read back to the same
 * bits. What does not belong to the question, or has another form, is refused.
 */
#include "files.h"
#include "sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 10, LINE = 2 * CLI_WORDS_LENGTH + 2048 };

/* The numbers of a result that sweep reports. */
static void list_numbers(nadir_robust *robust, double *numbers[NUMBERS])
{
    double *const all[NUMBERS] = {&robust->radius,         &robust->nominal_return,   &robust->robust_return,
                                  &robust->penalty,        &robust->lower_bound,      &robust->upper_bound,
                                  &robust->norm,           &robust->breakdown_radius, &robust->valid_radius,
                                  &robust->seconds_certify};
    memcpy(numbers, all, sizeof all);
}

/* What has to be the same when a sweep goes on. */
static void print_question(const cli_run *run, const cli_sweep *sweep, char text[LINE])
{
    (void)snprintf(text, LINE,
                   "model %s curves %d optimistic %d certify %d horizon %" PRId64 " options%s%s policies",
                   sweep->input.model_digest.text, sweep->curves_count, sweep->optimistic, sweep->certify,
                   sweep->horizon, run->words.of_model, run->words.of_ball);
    for (int i = 0; i < sweep->policies.count; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, LINE - used, " %.200s %s", sweep->policies.values[i],
                       sweep->policy_digests[i]);
    }
}

nadir_status cli_sweep_digest_policies(cli_run *run, cli_sweep *sweep)
{
    nadir_status status = NADIR_OK;
    sweep->policy_digests = calloc((size_t)sweep->policies.count, sizeof *sweep->policy_digests);
    if (sweep->policy_digests == NULL) {
        return NADIR_ERROR_MEMORY;
    }
    for (int i = 0; i < sweep->policies.count && status == NADIR_OK; i++) {
        const char *path = cli_policy_file(sweep->policies.values[i]);
        status = path != NULL ? nadir_file_digest(run->context, path, sweep->policy_digests[i]) : NADIR_OK;
    }
    return status;
}

/* Radii of a curve that have a result: the first ones. */
static int64_t count_finished(const cli_sweep *sweep, const cli_curve *curve)
{
    int64_t count = curve->count;
    while (count < sweep->radii.count && curve->results[count].stop_reason != NULL &&
           !isnan(curve->results[count].robust_return)) {
        count++;
    }
    return count;
}

int64_t cli_sweep_finished(const cli_sweep *sweep)
{
    int64_t count = 0;
    for (int c = 0; c < sweep->curves_count; c++) {
        count += count_finished(sweep, &sweep->curves[c]);
    }
    return count;
}

void cli_sweep_keep_some(cli_run *run, cli_sweep *sweep)
{
    const double interval = 2; /* seconds */
    if (sweep->kept_at < 0 || cli_clock() - sweep->kept_at < interval) {
        return;
    }
    if (cli_sweep_finished(sweep) > sweep->kept_count && cli_sweep_keep(run, sweep) != NADIR_OK) {
        cli_warn(run, "%s: the checkpoint cannot be written", sweep->checkpoint_path);
        sweep->kept_at = -1; /* not tried again before the end */
    }
}

nadir_status cli_sweep_keep(cli_run *run, cli_sweep *sweep)
{
    cli_output output;
    char question[LINE];
    const nadir_status status = cli_output_open(run, sweep->checkpoint_path, &output);
    if (status != NADIR_OK) {
        return status;
    }
    sweep->kept_at = cli_clock();
    sweep->kept_count = 0;
    print_question(run, sweep, question);
    fprintf(output.out, "nadir-sweep 2\n%s\n", question);
    for (int c = 0; c < sweep->curves_count; c++) {
        const int64_t count = count_finished(sweep, &sweep->curves[c]);
        sweep->kept_count += count;
        for (int64_t i = 0; i < count; i++) {
            nadir_robust *robust = &sweep->curves[c].results[i];
            robust->radius = cli_radii_get(&sweep->radii, i); /* the exact one, not a product with a factor */
            double *numbers[NUMBERS];
            list_numbers(robust, numbers);
            fprintf(output.out, "%d %" PRId64 " %d %s %s %s %s", c, i, robust->certified, robust->certificate,
                    robust->bound, robust->backend, robust->stop_reason);
            for (int k = 0; k < NUMBERS; k++) {
                fprintf(output.out, " %.17g", *numbers[k]);
            }
            fputc('\n', output.out);
        }
    }
    return cli_output_close(run, &output);
}

static nadir_status refuse(cli_run *run, const cli_sweep *sweep, const char *reason)
{
    return cli_fail(run, NADIR_ERROR_FORMAT, "%s: %s", sweep->resume_path, reason);
}

/* A line of the file: the next result of its curve. Its words stay where they are. */
static bool take_line(cli_sweep *sweep, char *line)
{
    enum { WORDS = 7 };
    char *words[WORDS + NUMBERS];
    char *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS + NUMBERS) {
            return false;
        }
        words[count++] = word;
    }
    char *end;
    const long place = count == WORDS + NUMBERS ? strtol(words[0], &end, 10) : -1;
    if (place < 0 || place >= sweep->curves_count || *end != '\0') {
        return false;
    }
    cli_curve *curve = &sweep->curves[place];
    if (curve->count >= sweep->radii.count || strtoll(words[1], &end, 10) != curve->count || *end != '\0') {
        return false;
    }
    nadir_robust *robust = &curve->results[curve->count++];
    double *numbers[NUMBERS];
    list_numbers(robust, numbers);
    robust->set = curve->set;
    robust->domain = curve->domain;
    robust->certified = strcmp(words[2], "1") == 0;
    robust->certificate = words[3];
    robust->bound = words[4];
    robust->backend = words[5];
    robust->stop_reason = words[6];
    for (int k = 0; k < NUMBERS; k++) {
        *numbers[k] = strtod(words[WORDS + k], &end);
        if (*end != '\0') {
            return false;
        }
    }
    return true;
}

/* The whole file, which stays in memory: results point into it. */
static nadir_status read_text(cli_run *run, cli_sweep *sweep)
{
    enum { LARGEST = 1 << 26 };
    FILE *file = fopen(sweep->resume_path, "r");
    if (file == NULL) {
        return cli_fail(run, NADIR_ERROR_IO, "%s: cannot open the file: %s", sweep->resume_path,
                        strerror(errno));
    }
    size_t used = 0;
    size_t room = 1 << 16;
    char *text = malloc(room);
    bool fits = text != NULL;
    while (fits && !feof(file) && !ferror(file) && used < LARGEST) {
        if (used + 1 == room) {
            char *larger = realloc(text, room *= 2);
            fits = larger != NULL;
            text = fits ? larger : text;
        }
        if (fits) {
            used += fread(&text[used], 1, room - used - 1, file);
        }
    }
    const bool whole = fits && feof(file) && !ferror(file);
    (void)fclose(file);
    if (text != NULL) {
        text[whole ? used : 0] = '\0';
    }
    sweep->kept = text;
    return whole ? NADIR_OK : refuse(run, sweep, "cannot be read");
}

nadir_status cli_sweep_resume(cli_run *run, cli_sweep *sweep)
{
    char question[LINE];
    char *rest = NULL;
    const nadir_status status = read_text(run, sweep);
    if (status != NADIR_OK) {
        return status;
    }
    const char *head = strtok_r(sweep->kept, "\n", &rest);
    const char *asked = strtok_r(NULL, "\n", &rest);
    print_question(run, sweep, question);
    if (head == NULL || asked == NULL || strcmp(head, "nadir-sweep 2") != 0) {
        return refuse(run, sweep, "this is no checkpoint of nadir sweep");
    }
    if (strcmp(asked, question) != 0) {
        return refuse(run, sweep, "the checkpoint is of another model, policy, ball or other options");
    }
    for (char *line = strtok_r(NULL, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (!take_line(sweep, line)) {
            return refuse(run, sweep, "a line of the checkpoint is not as it was written");
        }
    }
    return NADIR_OK;
}
