/*
 * verdict.h: what a person reads first: the verdict in short numbers and plain words, and what to do next.
 *
 * Numbers have five significant digits here; all of them are printed with --verbose and --json.
 */
#ifndef NADIR_CLI_VERDICT_H
#define NADIR_CLI_VERDICT_H

#include "input.h"

/* Escape sequences on a terminal, unless NO_COLOR is set; else nothing. */
typedef enum cli_emphasis { CLI_PLAIN, CLI_BOLD, CLI_GOOD, CLI_BAD } cli_emphasis;
const char *cli_emphasis_start(cli_emphasis style);

/* Five significant digits: the nearest, at most and at least the value; `text` is returned. */
const char *cli_short(double value, char text[32]);
const char *cli_short_down(double value, char text[32]);
const char *cli_short_up(double value, char text[32]);
/* A norm, which may be chi2. */
const char *cli_norm(double norm, char text[32]);
/* "34 %"; of 0.34. */
const char *cli_percent(double share, char text[32]);
/* "loses 34 %", "gains 1.2": how far `value` is from `from`, in per cent where that makes sense. */
const char *cli_change(double from, double value, char text[64]);

/* One line of the verdict, its label in bold. */
void cli_verdict_line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line of the block below it. */
void cli_block_line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "proven", "proven up to ...", "not proven", with its colour. `text` is returned. */
const char *cli_proven(bool certified, const char *certificate, char text[96]);

/* "one budget for the whole kernel", "no new transitions": in plain words. */
const char *cli_set_words(nadir_set set);
const char *cli_domain_words(nadir_domain domain);
/* "radius 0.1, norm 2; one budget for the whole kernel; valid probabilities" */
const char *cli_ball_words(double radius, double norm, nadir_set set, nadir_domain domain, char text[160]);

/* The worst (or best) return of a policy: proven, or first what is guaranteed, then what was found, why, and what
 * to do about it. smaller: a radius at which it is proven; NaN: none is known. */
void cli_verdict_robust(const nadir_robust *robust, const nadir_robust_settings *settings, double smaller);

/* Whether the bounds of a worst case that is not certified agree in all digits that are shown; then `text` is
 * "proven to within 0.0013". */
bool cli_nearly_proven(const nadir_robust *robust, char text[48]);
/* Seconds to try where those of a proof were too few. */
double cli_more_time(const nadir_robust_settings *settings);

/* "Next  nadir COMMAND MODEL ...": with the options of the model and of the ball as they were given, then
 * `further`. ball: whether those of the ball are taken. */
void cli_next(const cli_run *run, const char *command, const char *model, bool ball, const char *further);

/* A note on what the ball of a fitted model is for, where the ball in use, of this radius, is the model's own. */
void cli_promise_text(const nadir_model_data *view, double radius, int policies);

/* The policy of the first states, actions by name. */
void cli_policy_head(const nadir_model *model, const nadir_policy *policy);

#endif
