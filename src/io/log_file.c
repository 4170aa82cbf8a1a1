/* log_file.c: files of logged data, and fits of them; see format.h. */
#include "io/log_file.h"
#include "fit/fit.h"
#include "io/format.h"
#include "io/labels.h"
#include "io/npy.h"

#include <stdio.h>
#include <string.h>

/* ---- Columns ----------------------------------------------------------------------------------------- */

const nadir_csv_column nadir_log_columns[NADIR_DATA_COLUMNS] = {
    [NADIR_DATA_STATE] = {.names = {"state", "idstatefrom", "idstate", "s", "obs", "observation"}},
    [NADIR_DATA_ACTION] = {.names = {"action", "idaction", "a", "act"}},
    [NADIR_DATA_SUCCESSOR] = {.names = {"next_state", "idstateto", "next", "s_next", "next_s", "next_obs",
                                        "next_observation"},
                              .optional = true},
    [NADIR_DATA_REWARD] = {.names = {"reward", "r", "rew"}, .optional = true},
    [NADIR_DATA_COUNT] = {.names = {"count"}, .optional = true},
    [NADIR_DATA_EPISODE] = {.names = {"episode", "episode_id", "trajectory", "trajectory_id"},
                            .optional = true},
    [NADIR_DATA_STEP] = {.names = {"step", "t", "timestep"}, .optional = true},
    [NADIR_DATA_TIME] = {.names = {"time", "timestamp"}, .optional = true},
    [NADIR_DATA_DONE] = {.names = {"done", "terminated", "terminal"}, .optional = true},
    [NADIR_DATA_TRUNCATED] = {.names = {"truncated", "timeout"}, .optional = true},
    [NADIR_DATA_OUTCOME] = {.names = {"idoutcome", "outcome"}, .optional = true},
    [NADIR_DATA_PROBABILITY] = {.names = {"probability"}, .optional = true},
};

/* What settings call the columns that they may name. */
static const char *const roles[NADIR_DATA_COLUMNS] = {
    [NADIR_DATA_STATE] = "state",         [NADIR_DATA_ACTION] = "action", [NADIR_DATA_SUCCESSOR] = "next",
    [NADIR_DATA_REWARD] = "reward",       [NADIR_DATA_COUNT] = "count",   [NADIR_DATA_EPISODE] = "episode",
    [NADIR_DATA_STEP] = "step",           [NADIR_DATA_TIME] = "time",     [NADIR_DATA_DONE] = "done",
    [NADIR_DATA_TRUNCATED] = "truncated",
};

/* A name that was given is that of no other column. */
static void keep_apart(nadir_log_names *names, int own)
{
    const char *given = names->columns[own].names[0];
    const nadir_cursor word = {given, given + strlen(given)};
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        int to = 0;
        for (int k = 0; k < NADIR_CSV_NAMES && i != own; k++) {
            const char *name = names->columns[i].names[k];
            if (name != NULL && !nadir_cursor_equals_nocase(word, name)) {
                names->columns[i].names[k] = NULL;
                names->columns[i].names[to++] = name;
            } else {
                names->columns[i].names[k] = NULL;
            }
        }
    }
}

/* Whether a word is what settings call a column, or one of its common names. */
static bool is_role(int which, nadir_cursor word)
{
    bool is = roles[which] != NULL && nadir_cursor_equals_nocase(word, roles[which]);
    for (int k = 0; k < NADIR_CSV_NAMES && roles[which] != NULL; k++) {
        const char *name = nadir_log_columns[which].names[k];
        is = is || (name != NULL && nadir_cursor_equals_nocase(word, name));
    }
    return is;
}

/* ROLE=NAME; *which: of the role. */
static nadir_status take_pair(nadir_context *context, nadir_log_names *names, char *pair, int *which)
{
    char *equal = strchr(pair, '=');
    const nadir_cursor role = {pair, equal != NULL ? equal : pair};
    *which = 0;
    while (*which < NADIR_DATA_COLUMNS && !is_role(*which, role)) {
        (*which)++;
    }
    if (equal == NULL || equal[1] == '\0' || *which == NADIR_DATA_COLUMNS ||
        (names->given >> *which & 1U) != 0) {
        return nadir_fail(
            context, NADIR_ERROR_ARGUMENT,
            "columns: `%s`; expected state=NAME,action=NAME,... with state, action, reward, next, done, "
            "truncated, episode, time, step, count, each once at most",
            pair);
    }
    names->given |= 1U << *which;
    names->columns[*which] = (nadir_csv_column){.names = {equal + 1}};
    return NADIR_OK;
}

nadir_status nadir_log_names_make(nadir_context *context, const char *given, nadir_log_names *names)
{
    *names = (nadir_log_names){0};
    memcpy(names->columns, nadir_log_columns, sizeof names->columns);
    if (given == NULL) {
        return NADIR_OK;
    }
    if (strlen(given) >= sizeof names->text) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "columns: longer than %zu characters",
                          sizeof names->text - 1);
    }
    (void)snprintf(names->text, sizeof names->text, "%s", given);
    for (char *pair = names->text, *next; pair != NULL; pair = next) {
        int which;
        next = strchr(pair, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        NADIR_TRY(take_pair(context, names, pair, &which));
    }
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        if (NADIR_DATA_HAS(names->given, i)) {
            keep_apart(names, i);
        }
    }
    return NADIR_OK;
}

nadir_status nadir_log_names_check(const nadir_log_names *names, const nadir_data_collector *collector)
{
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        if (NADIR_DATA_HAS(names->given & ~collector->columns, i)) {
            return nadir_fail(collector->context, NADIR_ERROR_FORMAT,
                              "%s: there is no field `%s` for %s=", collector->path,
                              names->columns[i].names[0], roles[i]);
        }
    }
    return NADIR_OK;
}

#define BIT(which) (1U << (NADIR_DATA_##which))
#define ROW        (BIT(STATE) | BIT(ACTION))
#define ENDS       (BIT(DONE) | BIT(TRUNCATED))
#define ORDER      (BIT(STEP) | BIT(TIME))

/* Which columns each kind must and may have. */
static const struct {
    unsigned required, allowed;
} kinds[] = {
    [NADIR_DATA_TRANSITIONS] = {ROW | BIT(SUCCESSOR), ROW | BIT(SUCCESSOR) | BIT(REWARD) | ENDS | ORDER},
    [NADIR_DATA_COUNTS] = {ROW | BIT(SUCCESSOR) | BIT(COUNT),
                           ROW | BIT(SUCCESSOR) | BIT(COUNT) | BIT(REWARD) | BIT(DONE)},
    [NADIR_DATA_TRAJECTORIES] = {ROW | BIT(EPISODE),
                                 ROW | BIT(EPISODE) | BIT(SUCCESSOR) | BIT(REWARD) | ENDS | ORDER},
    [NADIR_DATA_SAMPLES] = {ROW | BIT(SUCCESSOR) | BIT(OUTCOME) | BIT(PROBABILITY),
                            ROW | BIT(SUCCESSOR) | BIT(OUTCOME) | BIT(PROBABILITY) | BIT(REWARD)},
};

/* "`a`, `b`": the columns of a set. */
static void list_columns(unsigned columns, char *list, size_t capacity)
{
    size_t used = 0;
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        if (NADIR_DATA_HAS(columns, i)) {
            used += (size_t)snprintf(list + used, capacity - used, "%s`%s`", used > 0 ? ", " : "",
                                     nadir_log_columns[i].names[0]);
        }
    }
}

static nadir_data_kind kind_of(unsigned columns)
{
    return (columns & (BIT(PROBABILITY) | BIT(OUTCOME))) != 0 ? NADIR_DATA_SAMPLES
           : (columns & BIT(EPISODE)) != 0                    ? NADIR_DATA_TRAJECTORIES
           : (columns & BIT(COUNT)) != 0                      ? NADIR_DATA_COUNTS
           : (columns & BIT(SUCCESSOR)) != 0                  ? NADIR_DATA_TRANSITIONS
           : (columns & (ENDS | ORDER)) != 0                  ? NADIR_DATA_TRAJECTORIES
                                                              : NADIR_DATA_TRANSITIONS;
}

nadir_status nadir_log_kind(nadir_context *context, const char *place, unsigned columns,
                            nadir_data_kind *kind)
{
    char wrong[256];
    char needed[256];
    if ((columns & BIT(PROBABILITY)) != 0 && (columns & BIT(OUTCOME)) == 0) {
        return nadir_fail(context, NADIR_ERROR_FORMAT,
                          "%s: a column `probability` without `idoutcome`: this is a model, not data", place);
    }
    *kind = kind_of(columns);
    unsigned missing = kinds[*kind].required & ~columns;
    const unsigned extra = columns & ~kinds[*kind].allowed;
    missing &= (columns & ENDS) != 0 ? ~BIT(EPISODE) : ~0U; /* episodes end where they say so */
    if (missing == 0 && extra == 0) {
        if (*kind == NADIR_DATA_TRANSITIONS && (columns & ORDER) != 0) {
            nadir_log(context, NADIR_LOG_NOTICE,
                      "%s: without a column `episode` the order of lines does not count: `step` and `time` "
                      "are not used",
                      place);
        }
        return NADIR_OK;
    }
    list_columns(missing != 0 ? missing : extra, wrong, sizeof wrong);
    list_columns(kinds[*kind].required, needed, sizeof needed);
    return nadir_fail(context, NADIR_ERROR_FORMAT, "%s: %s %s; %s have the columns %s%s%s", place,
                      missing != 0 ? "missing" : "out of place:", wrong, nadir_data_kind_name(*kind), needed,
                      (kinds[*kind].allowed & ~columns & BIT(REWARD)) != 0 ? " and may have `reward`" : "",
                      *kind == NADIR_DATA_TRANSITIONS && missing != 0
                          ? "; with `episode` or `done` next states are those of the following lines"
                          : "");
}

void *nadir_log_member(nadir_data_row *row, int which)
{
    static const size_t offsets[NADIR_DATA_COLUMNS] = {
        [NADIR_DATA_STATE] = offsetof(nadir_data_row, state),
        [NADIR_DATA_ACTION] = offsetof(nadir_data_row, action),
        [NADIR_DATA_SUCCESSOR] = offsetof(nadir_data_row, successor),
        [NADIR_DATA_REWARD] = offsetof(nadir_data_row, reward),
        [NADIR_DATA_COUNT] = offsetof(nadir_data_row, count),
        [NADIR_DATA_EPISODE] = offsetof(nadir_data_row, episode),
        [NADIR_DATA_STEP] = offsetof(nadir_data_row, step),
        [NADIR_DATA_TIME] = offsetof(nadir_data_row, time),
        [NADIR_DATA_DONE] = offsetof(nadir_data_row, done),
        [NADIR_DATA_TRUNCATED] = offsetof(nadir_data_row, truncated),
        [NADIR_DATA_OUTCOME] = offsetof(nadir_data_row, outcome),
        [NADIR_DATA_PROBABILITY] = offsetof(nadir_data_row, probability),
    };
    return (char *)row + offsets[which];
}

unsigned nadir_log_optional(const nadir_data_collector *collector)
{
    return collector->kind == NADIR_DATA_TRAJECTORIES ? BIT(ACTION) | BIT(SUCCESSOR) | BIT(REWARD)
           : (collector->columns & ENDS) != 0         ? BIT(SUCCESSOR)
                                                      : 0;
}

/* ---- Tables ------------------------------------------------------------------------------------------ */

static nadir_status read_header(nadir_data_collector *collector, nadir_text *text,
                                const nadir_log_names *names, nadir_csv_header *header)
{
    char place[4200];
    NADIR_TRY(nadir_csv_read_header(text, NADIR_DATA_COLUMNS, names->columns, names->given == 0, header));
    for (int i = 0; i < NADIR_DATA_COLUMNS; i++) {
        collector->columns |= header->positions[i] >= 0 ? 1U << i : 0U;
    }
    (void)snprintf(place, sizeof place, "%s:%lld", text->path, (long long)text->line);
    NADIR_TRY(nadir_log_kind(collector->context, place, collector->columns, &collector->kind));
    if (collector->kind == NADIR_DATA_TRANSITIONS && names->given != 0 && header->width > header->found) {
        nadir_log(collector->context, NADIR_LOG_NOTICE,
                  "%s: no column tells where episodes start, so every state counts as a start alike; if one "
                  "does, say so: "
                  "--columns episode=NAME,...",
                  text->path);
    }
    return NADIR_OK;
}

/* 0, 1 or a word. */
static nadir_status read_flag(nadir_text *text, const char *called, nadir_cursor cell, int64_t *flag)
{
    static const char *const words[] = {"false", "true", "f", "t", "no", "yes", "n", "y"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (nadir_cursor_equals_nocase(cell, words[i])) {
            *flag = (int64_t)i % 2;
            return NADIR_OK;
        }
    }
    return nadir_csv_whole(cell, flag) && (*flag == 0 || *flag == 1)
               ? NADIR_OK
               : nadir_text_fail(text, "`%s` is `%.*s`; expected 0, 1, false, true, no or yes", called,
                                 NADIR_WORD(cell));
}

/* Takes one whole number of at most `digits` digits, and the character after it, if it is this one. */
static bool take_part(nadir_cursor *rest, int digits, char after, int64_t *value)
{
    const char *begin = rest->at;
    *value = 0;
    while (rest->at < rest->end && rest->at - begin < digits && *rest->at >= '0' && *rest->at <= '9') {
        *value = 10 * *value + (*rest->at++ - '0');
    }
    const bool taken = rest->at > begin;
    if (taken && rest->at < rest->end && *rest->at == after) {
        rest->at++;
        return true;
    }
    return taken && after == '\0';
}

/* hh:mm or hh:mm:ss.s, in seconds; false: not so. */
static bool take_clock(nadir_cursor *rest, double *seconds)
{
    int64_t hour;
    int64_t minute;
    double second = 0;
    if (!take_part(rest, 2, ':', &hour) || !take_part(rest, 2, '\0', &minute) || hour > 24 || minute > 59) {
        return false;
    }
    if (rest->at < rest->end && *rest->at == ':') {
        nadir_cursor digits = {rest->at + 1, rest->at + 1};
        while (digits.end < rest->end && (*digits.end == '.' || (*digits.end >= '0' && *digits.end <= '9'))) {
            digits.end++;
        }
        if (!nadir_cursor_is_double(digits, &second) || second >= 61) {
            return false;
        }
        rest->at = digits.end;
    }
    *seconds = 3600.0 * (double)hour + 60.0 * (double)minute + second;
    return true;
}

/* The seconds since 1970 of a date as ISO 8601 writes it: 2024-03-05, 2024-03-05 10:30, 2024-03-05T10:30:15.5Z,
 * 2024-03-05 10:30:15+02:00. */
static bool read_date(nadir_cursor cell, double *seconds)
{
    nadir_cursor rest = cell;
    int64_t year;
    int64_t month;
    int64_t day;
    double clock = 0;
    double zone = 0;
    if (!take_part(&rest, 4, '-', &year) || !take_part(&rest, 2, '-', &month) ||
        !take_part(&rest, 2, '\0', &day) || month < 1 || month > 12 || day < 1 || day > 31) {
        return false;
    }
    if (rest.at < rest.end && (*rest.at == ' ' || *rest.at == 'T')) {
        rest.at++;
        if (!take_clock(&rest, &clock)) {
            return false;
        }
        const char sign = *(rest.at < rest.end ? rest.at++ : "Z");
        if (sign != 'Z' && ((sign != '+' && sign != '-') || !take_clock(&rest, &zone))) {
            return false;
        }
        zone = sign == '-' ? -zone : zone;
    }
    const int64_t years = month > 2 ? year : year - 1; /* that begin with March */
    const int64_t days = 365 * years + years / 4 - years / 100 + years / 400 +
                         (153 * ((month + 9) % 12) + 2) / 5 + day - 719469;
    *seconds = 86400.0 * (double)days + clock - zone;
    return rest.at == rest.end;
}

/* A number or a date, and all of a file alike. */
static nadir_status read_time(nadir_data_collector *collector, nadir_text *text,
                              const nadir_csv_header *header, nadir_cursor cell, double *time)
{
    const bool date = read_date(cell, time);
    if (!date && !nadir_cursor_is_double(cell, time)) {
        return nadir_text_fail(text, "`%s` is `%.*s`; expected a number or a date such as 2024-03-05 10:30",
                               header->called[NADIR_DATA_TIME], NADIR_WORD(cell));
    }
    if (collector->observations + collector->episodes > 0 && date != collector->dates) {
        return nadir_text_fail(text, "`%s` is `%.*s`, a %s; the lines before have %s",
                               header->called[NADIR_DATA_TIME], NADIR_WORD(cell), date ? "date" : "number",
                               date ? "numbers" : "dates");
    }
    collector->dates = date;
    return NADIR_OK;
}

/* Empty, or NA, <NA> or NaN, as R and pandas write it: no state or action of a log is called so. */
static bool is_missing(nadir_cursor cell)
{
    return cell.at == cell.end || nadir_cursor_equals(cell, "NA") || nadir_cursor_equals(cell, "<NA>") ||
           nadir_cursor_equals_nocase(cell, "nan");
}

static nadir_status read_label(nadir_data_collector *collector, nadir_text *text,
                               const nadir_csv_header *header, const nadir_cursor *cells, int which, void *to)
{
    const int kind = which == NADIR_DATA_ACTION    ? NADIR_WORDS_ACTION
                     : which == NADIR_DATA_EPISODE ? NADIR_WORDS_EPISODE
                                                   : NADIR_WORDS_STATE;
    return is_missing(cells[which])
               ? nadir_text_fail(text, "`%s` is `%.*s`; expected a whole number or a name",
                                 header->called[which], NADIR_WORD(cells[which]))
               : nadir_csv_label(text, header, cells, which, &collector->words[kind], to);
}

static nadir_status read_cell(nadir_data_collector *collector, nadir_text *text,
                              const nadir_csv_header *header, const nadir_cursor *cells, int which, void *to)
{
    const char *called = header->called[which];
    switch (which) {
    case NADIR_DATA_STATE:
    case NADIR_DATA_SUCCESSOR:
    case NADIR_DATA_ACTION:
    case NADIR_DATA_EPISODE:
        return read_label(collector, text, header, cells, which, to);
    case NADIR_DATA_DONE:
    case NADIR_DATA_TRUNCATED:
        return read_flag(text, called, cells[which], to);
    case NADIR_DATA_TIME:
        return read_time(collector, text, header, cells[which], to);
    default:
        return NADIR_DATA_HAS(NADIR_LOG_NUMBERS, which) ? nadir_csv_double(text, header, cells, which, to)
                                                        : nadir_csv_integer(text, header, cells, which, to);
    }
}

/* The next state of a line that is done may be a state of which there is no other trace: it says at most what the end is
 * called. */
static nadir_status read_end(nadir_data_collector *collector, nadir_cursor cell)
{
    nadir_words *words = &collector->words[NADIR_WORDS_END];
    const size_t length = (size_t)(cell.end - cell.at);
    double real;
    int64_t number;
    return is_missing(cell) || words->names.count > 1 || nadir_cursor_is_double(cell, &real) ||
                   !nadir_utf8_is_valid(cell.at, length)
               ? NADIR_OK
               : nadir_words_number(collector->context, words, cell.at, length, &number);
}

static nadir_status read_cells(nadir_data_collector *collector, nadir_text *text,
                               const nadir_csv_header *header, const nadir_cursor *cells, nadir_data_row *row)
{
    unsigned optional = nadir_log_optional(collector);
    row->line = text->line;
    row->there = 0;
    row->done = 0;
    if (NADIR_DATA_HAS(collector->columns, NADIR_DATA_DONE)) {
        NADIR_TRY(read_flag(text, header->called[NADIR_DATA_DONE], cells[NADIR_DATA_DONE], &row->done));
    }
    for (int k = 0; k < header->found; k++) {
        const int which = header->order[k];
        if (row->done != 0 && which == NADIR_DATA_SUCCESSOR) {
            NADIR_TRY(read_end(collector, cells[which]));
            continue;
        }
        double number; /* a reward that is NaN may be an error of whoever computed it */
        const bool wrong = which == NADIR_DATA_REWARD && nadir_cursor_is_double(cells[which], &number);
        if (NADIR_DATA_HAS(optional, which) && !wrong && is_missing(cells[which])) {
            continue;
        }
        row->there |= 1U << which;
        NADIR_TRY(read_cell(collector, text, header, cells, which, nadir_log_member(row, which)));
    }
    return NADIR_OK;
}

/* Gives all rows of collector->path, or of standard input, to the collector, whose kind and columns they set. */
static nadir_status read_csv(nadir_data_collector *collector, bool standard)
{
    nadir_status status = NADIR_OK;
    nadir_text text = {0};
    nadir_log_names names;
    nadir_csv_header header;
    nadir_cursor cells[NADIR_CSV_COLUMNS];
    nadir_data_row row = {0};
    bool more;
    NADIR_CHECK(nadir_log_names_make(collector->context, collector->settings.columns, &names));
    NADIR_CHECK(nadir_text_open(collector->context, standard ? NULL : collector->path, &text));
    NADIR_CHECK(read_header(collector, &text, &names, &header));
    NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
    while (more) {
        NADIR_CHECK(read_cells(collector, &text, &header, cells, &row));
        NADIR_CHECK(nadir_data_collect(collector, &row));
        NADIR_CHECK(nadir_csv_read_row(&text, &header, cells, &more));
    }
cleanup:
    nadir_text_close(&text);
    return status;
}

/* ---- Files ---- */

/* What nadir evaluate takes and nadir fit does not: names the kind of file. */
static nadir_status refuse_model(nadir_context *context, const char *path)
{
    const char *format;
    NADIR_TRY(nadir_model_format_of(context, path, &format));
    return format == NULL
               ? NADIR_OK
               : nadir_fail(
                     context, NADIR_ERROR_FORMAT,
                     "%s is a model (%s), not logged data: evaluate or optimize it as it is; a fit takes "
                     "a table of transitions with a header such as state,action,next_state,reward",
                     path, format);
}

/* The terminal state is called as the log calls the next state of all lines that are done, if that is no other state. */
static nadir_status name_terminal(nadir_data_collector *collector, nadir_words *states)
{
    const nadir_names *ends = &collector->words[NADIR_WORDS_END].names;
    const char *said = ends->count == 1 ? nadir_names_get(ends, 0) : "";
    char name[32] = "terminal";
    int64_t number;
    if (said[0] != '\0' && nadir_name_index_find(&states->index, &states->names, said, strlen(said)) < 0) {
        return nadir_words_number(collector->context, states, said, strlen(said), &number);
    }
    for (int k = 2; nadir_name_index_find(&states->index, &states->names, name, strlen(name)) >= 0; k++) {
        (void)snprintf(name, sizeof name, "terminal#%d", k);
    }
    return nadir_words_number(collector->context, states, name, strlen(name), &number);
}

/* Names go from the collector to the data. */
static nadir_status take_names(nadir_data_collector *collector, nadir_data *data)
{
    nadir_words *states = &collector->words[NADIR_WORDS_STATE];
    if (states->named && collector->terminal && collector->settings.alike == NULL) {
        NADIR_TRY(name_terminal(collector, states));
    }
    for (int k = 0; k < 2; k++) {
        nadir_words *words = &collector->words[k];
        const int64_t given = k == 0 ? collector->settings.states : collector->settings.actions;
        if (words->named && given > 0 && collector->settings.alike == NULL) {
            return nadir_fail(collector->context, NADIR_ERROR_ARGUMENT,
                              "%s: %s are names: their number is that of the names, and cannot be given",
                              collector->path, k == 0 ? "states" : "actions");
        }
        data->names[k] = words->names;
        words->names = (nadir_names){0};
    }
    return NADIR_OK;
}

nadir_status nadir_data_read(nadir_context *context, const char *path, const nadir_data_settings *settings,
                             nadir_data *data)
{
    nadir_status status = NADIR_OK;
    const bool standard = strcmp(path, "-") == 0;
    bool array = false;
    nadir_data_collector collector = {0};
    *data = (nadir_data){0};
    NADIR_CHECK(
        nadir_data_collector_start(context, standard ? "standard input" : path, settings, &collector));
    if (!standard) {
        NADIR_CHECK(nadir_npy_recognises(context, path, &array));
        NADIR_CHECK(refuse_model(context, path));
    }
    if (array && (collector.settings.names_count[0] > 0 || collector.settings.names_count[1] > 0)) {
        NADIR_CHECK(nadir_fail(context, NADIR_ERROR_UNSUPPORTED,
                               "%s: an array has numbers for states and actions; names are of tables", path));
    }
    NADIR_CHECK(array ? nadir_log_read_array(&collector) : read_csv(&collector, standard));
    NADIR_CHECK(nadir_data_collect_end(&collector));
    data->kind = collector.kind;
    NADIR_CHECK(take_names(&collector, data));
    NADIR_CHECK(collector.kind == NADIR_DATA_SAMPLES ? nadir_samples_make(&collector, &data->samples)
                                                     : nadir_counts_make(&collector, &data->counts));
cleanup:
    nadir_data_collector_clear(&collector);
    return status;
}

/* ---- Fits -------------------------------------------------------------------------------------------- */

static int64_t most_actions(const nadir_counts *counts)
{
    int64_t most = 0;
    for (int64_t state = 0; state < counts->states; state++) {
        const int64_t actions = counts->state_rows[state + 1] - counts->state_rows[state];
        most = actions > most ? actions : most;
    }
    return most;
}

/* The transitions that are allowed, laid out as the data are. */
static nadir_status read_listed(nadir_context *context, const nadir_data *data,
                                const nadir_fit_settings *settings, nadir_data *listed)
{
    const nadir_counts *counts = data->counts;
    const nadir_data_settings reading = {.states = counts->states,
                                         .actions = settings->ragged ? 0 : most_actions(counts),
                                         .ragged = settings->ragged,
                                         .alike = data};
    const nadir_status status = nadir_data_read(context, settings->successors, &reading, listed);
    if (status != NADIR_OK) {
        return status;
    }
    bool same = listed->counts != NULL && listed->counts->rows == counts->rows;
    for (int64_t state = 0; same && state < counts->states; state++) {
        same = listed->counts->state_rows[state] == counts->state_rows[state];
    }
    return same ? NADIR_OK
                : nadir_fail(context, NADIR_ERROR_MODEL,
                             "%s lists other states and actions than the data have; expected a list of "
                             "transitions of the same ones",
                             settings->successors);
}

nadir_status nadir_fit_read(nadir_context *context, const char *path, const nadir_fit_settings *settings,
                            nadir_fit **fit)
{
    nadir_status status = NADIR_OK;
    nadir_data data = {0};
    nadir_data listed = {0};
    nadir_fit *made = NULL;
    nadir_fit_settings use;
    nadir_fit_options options;
    nadir_fit_settings_default(&use);
    if (settings != NULL && !nadir_settings_copy(&use, sizeof use, settings)) {
        return nadir_fail(context, NADIR_ERROR_ARGUMENT, "the size of the fit settings is not set");
    }
    /* what is wrong with any data is said before they are read */
    NADIR_CHECK(nadir_fit_check_settings(context, &use, NADIR_DATA_TRANSITIONS, &options));
    const nadir_data_settings reading = {.states = use.states,
                                         .actions = use.actions,
                                         .ragged = use.ragged,
                                         .columns = use.columns,
                                         .names = {use.state_names, use.action_names},
                                         .names_count = {use.state_names_count, use.action_names_count}};
    NADIR_CHECK(nadir_data_read(context, path, &reading, &data));
    NADIR_CHECK(nadir_fit_check_settings(context, &use, data.kind, &options));
    if (nadir_fit_names_file(&use)) {
        NADIR_CHECK(read_listed(context, &data, &use, &listed));
    }
    NADIR_CHECK(nadir_fit_create(context, &data, &listed, &use, &made));
    if (use.initial != NULL) {
        NADIR_CHECK(nadir_initial_read(context, made->nominal, use.initial, made->nominal->initial));
    }
    *fit = made;
    made = NULL;
cleanup:
    nadir_data_clear(context, &data);
    nadir_data_clear(context, &listed);
    nadir_fit_free(made);
    return status;
}
