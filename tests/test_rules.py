"""Which test holds each rule of grading, budgets, gates and the report: the design, sentence by sentence.

A rule that changes changes its test; a test that is renamed or removed is missed here.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

RUNS = {
    "a run is named source#id with # and % of the id escaped, or source": (
        "test_report_document.py::test_a_run_is_named_after_its_source_and_its_id"
    ),
    "files are separate name spaces": ("test_grading.py::test_one_id_in_two_sources_is_two_runs"),
    "no two runs have one name": (
        "test_report_document.py::test_rows_of_a_run_never_get_to_another_of_the_same_name"
    ),
    "the same file given twice is read once": (
        "test_sources.py::test_a_file_given_twice_is_read_once"
    ),
    "bytes of a name that are no UTF-8 are %XX": (
        "test_sources.py::test_names_that_are_no_utf8_are_written_with_percent_signs"
    ),
    "session events belong to the only run of the session, else to a run only if gradable": (
        "test_grading.py::test_events_without_a_run_id_belong_to_the_only_run_of_their_session"
    ),
    "gradable: a request, a response or a tool call": (
        "test_grading.py::test_a_run_is_gradable_with_a_request_a_response_or_a_tool_call"
    ),
    "an empty or unknown source is one ungradable run": (
        "test_report_document.py::test_a_source_without_an_event_is_one_ungradable_run"
    ),
    "an unreadable source is one ungradable run": (
        "test_report_document.py::test_a_source_that_cannot_be_read_is_one_ungradable_run"
    ),
    "runs are ordered by source order, then first offset": (
        "test_report_document.py::test_runs_are_in_the_order_of_sources_then_of_first_events"
    ),
}

HANDOFFS = {
    "the last non-empty response and the last non-empty messages": (
        "test_grading.py::test_a_pair_is_scored_from_the_last_response_and_the_last_messages"
    ),
    "either missing: 5.0, 5.0, no loss": (
        "test_grading.py::test_a_pair_with_a_side_missing_is_neutral"
    ),
    "the input is str(messages) of the parsed JSON": (
        "test_grading.py::test_messages_are_matched_as_python_writes_them"
    ),
    "exact: passed 10.0, relevance 9.0": (
        "test_grading.py::test_an_output_that_stands_in_the_messages_is_exact"
    ),
    "the first 200 characters decide": (
        "test_grading.py::test_the_first_200_characters_make_an_output_exact"
    ),
    "tokens are the reference's": (
        "test_kernels.py::test_tokens_are_the_references_and_the_oracles"
    ),
    "overlap * 12 + 2, at most 10, relevance 7.0": "test_kernels.py::test_score_of_handoff",
    "passed < 5.0: a loss, with the summary": (
        "test_grading.py::test_a_score_under_5_is_a_loss_with_words"
    ),
    "bit for bit the reference's, on files": "test_grade_reference.py::test_equal_on_traces",
    "bit for bit with a given chain": "test_grade_reference.py::test_equal_with_a_given_chain",
    "a response of another type is wrong_type": (
        "test_grading.py::test_a_response_that_is_no_string_does_not_count_and_is_noted"
    ),
    "null means absent, never wrong_type": (
        "test_grading.py::test_null_is_absent_and_no_wrong_type"
    ),
    "given agents: 5.0 where one is missing": (
        "test_grading.py::test_given_agents_are_the_chain_of_every_run_and_a_missing_one_is_neutral"
    ),
    "inferred: by first request or response, content or not": (
        "test_grading.py::test_agents_are_in_the_order_of_their_first_exchange_with_content_or_without"
    ),
    "inferred, and no text: no handoff dimension, and the reason says so": (
        "test_grading.py::test_a_run_whose_exchanges_carry_no_text_has_no_handoff_dimension"
    ),
    "event order is file order": (
        "test_grading.py::test_order_is_that_of_the_file_and_not_of_time_or_sequence_numbers"
    ),
}

BUDGETS = {
    "budget <= 0: 5.0; within: 10.0; else by the overrun": "test_kernels.py::test_score_of_budget",
    "2,000 ledgers equal the reference to the bit": (
        "test_budgets_reference.py::test_equal_on_ledgers"
    ),
    "an empty name is eval_{eval_id}": (
        "test_evaluators.py::test_nothing_given_is_empty_and_named_after_its_id"
    ),
    "means of a run are the reference's": (
        "test_budgets_reference.py::test_the_columns_and_the_means_are_equal_too"
    ),
    "means over runs are exact sums rounded once": (
        "test_report.py::test_a_mean_over_runs_is_the_exact_sum_rounded_once"
    ),
    "overall_score averages the dimensions present": (
        "test_results.py::test_overall_averages_the_dimensions_present"
    ),
    "the class takes what the reference takes": "test_evaluators.py::test_counts_go_through_int",
    "a ledger is JSON, JSONL, CSV or Parquet": (
        "test_ledgers.py::test_every_form_of_a_ledger_gives_the_same_rows"
    ),
    "a ledger may hold CSV with quotes": (
        "test_ledgers.py::test_a_cell_may_hold_commas_quotes_and_line_ends"
    ),
    "the command refuses nonsense in rows": (
        "test_ledgers.py::test_rows_that_make_no_sense_are_refused"
    ),
    "and in files": "test_ledgers.py::test_files_that_make_no_sense_are_refused",
    "negative and non-numeric budgets are refused": (
        "test_ledgers.py::test_what_is_no_number_of_tokens_is_refused"
    ),
    "ledger and budgets together are an error": (
        "test_budgets.py::test_a_ledger_and_budgets_are_refused_together"
    ),
    "a ledger comes before the trace": (
        "test_budgets.py::test_a_ledger_comes_before_the_traces_budgets"
    ),
    "budgets by name come before the trace": (
        "test_budgets.py::test_budgets_given_by_name_come_before_the_traces"
    ),
    "an exact name comes before *": (
        "test_budgets.py::test_a_budget_by_name_comes_before_the_one_for_any"
    ),
    "else the trace": "test_budgets.py::test_without_any_the_trace_has_the_budgets",
    "of a trace: requests only": "test_budgets.py::test_budgets_of_a_trace_are_in_requests_only",
    "of a trace: the last positive budget, the largest use": (
        "test_budgets.py::test_a_trace_has_the_last_positive_budget_and_the_largest_use"
    ),
    "of a trace: never positive is no row": "test_budgets.py::test_a_budget_of_0_in_a_trace_is_none",
    "a 0 in a ledger or flag scores 5.0": (
        "test_budgets.py::test_a_budget_of_0_that_is_given_scores_the_neutral_5"
    ),
    "used_tokens left out are filled from the trace": (
        "test_budgets.py::test_usage_is_the_peak_of_context_where_the_trace_has_it"
    ),
    "used_tokens given are taken": (
        "test_budgets.py::test_used_tokens_of_a_ledger_come_before_the_traces"
    ),
    "usage total sums input and output": (
        "test_budgets.py::test_usage_total_sums_input_and_output"
    ),
    "unset: total where no occupancy is recorded": (
        "test_budgets.py::test_usage_unset_is_total_where_no_context_is_recorded"
    ),
    "peak is there the largest input of one call": (
        "test_budgets.py::test_usage_peak_is_the_largest_input_of_a_call_where_no_context_is_recorded"
    ),
    "no row for an agent that is absent, unless a ledger names it": (
        "test_budgets.py::test_an_agent_that_is_absent_has_no_row_unless_a_ledger_gives_its_use"
    ),
    "rows in ledger order": "test_budgets.py::test_rows_are_in_the_order_of_the_ledger",
    "else in agent order": ("test_budgets.py::test_rows_of_budgets_are_in_the_order_of_the_agents"),
    "a ledger's run matches run, then run_id, or every run": (
        "test_budgets.py::test_a_row_is_for_a_run_by_its_name_or_its_id_or_for_all"
    ),
}

GATES = {
    "every gate with and without its dimension, passed and failed": (
        "test_verdicts.py::test_verdict"
    ),
    "harness: score = passed gates / 4": (
        "test_verdicts.py::test_the_harness_score_is_of_its_own_four_gates"
    ),
    "reasons are true as printed": (
        "test_verdicts.py::test_a_reason_never_says_that_a_number_is_less_than_itself"
    ),
    "with no gate a gradable run passes": (
        "test_grading.py::test_a_run_is_gradable_with_a_request_a_response_or_a_tool_call"
    ),
    "a gate that no run has the dimension of is a sentence": (
        "test_verdicts.py::test_a_dimension_that_no_run_has_is_a_sentence"
    ),
    "artifacts, schema and judge score fail where none are recorded": (
        "test_report_document.py::test_harness_says_what_was_asked_and_what_is_missing"
    ),
    "tool calls: starts, or ends without any start, by family": (
        "test_grading.py::test_tool_calls_are_starts_or_ends_without_any_start_family_by_family"
    ),
    "tool calls have a name": "test_grading.py::test_a_tool_event_without_a_name_is_no_call",
    "a gate out of range is refused": ("test_verdicts.py::test_a_score_that_is_none_is_refused"),
    "a number of calls out of range is refused": (
        "test_verdicts.py::test_a_number_of_calls_that_is_none_is_refused"
    ),
    "exit codes 0, 1, 2; 2 outranks 1; ungradable beside graded leaves 0": (
        "test_report.py::test_exit_code"
    ),
    "an agent that no run has is 2, the report still written": (
        "test_cli.py::test_an_agent_that_no_run_has_is_2_and_the_report_is_written"
    ),
    "nothing to grade is 2, the report still written": (
        "test_cli.py::test_nothing_to_grade_is_2_and_the_report_is_written"
    ),
    "strict: loss and doubt give 1, notes do not": (
        "test_report.py::test_strict_lets_no_loss_and_no_doubt_pass"
    ),
    "strict: the reasons in words": ("test_report.py::test_strict_says_what_it_does_not_let_pass"),
}

REPORT = {
    "the document fits its schema, which leaves nothing open": (
        "test_report_document.py::test_the_schema_of_the_report_leaves_nothing_open"
    ),
    "the schemas in the folder are those of the code": (
        "test_report_document.py::test_written_schemas_are_those_of_the_code"
    ),
    "its head, in order": "test_report_document.py::test_the_head_says_what_graded_and_how",
    "summary: counts and means": (
        "test_report.py::test_the_summary_counts_and_averages_what_is_there"
    ),
    "means are null where no run has the dimension": (
        "test_report.py::test_a_mean_of_nothing_is_null"
    ),
    "usage is null where none is recorded": (
        "test_report.py::test_usage_is_summed_over_the_runs_that_record_it"
    ),
    "quality: records, skipped, at most 5 examples": (
        "test_report_document.py::test_quality_of_the_document_is_the_ledger"
    ),
    "options hold what can change a score or verdict, nothing else": (
        "test_report_document.py::test_options_hold_what_can_change_a_score_or_a_verdict_and_nothing_else"
    ),
    "a gradable run has context, harness and usage": (
        "test_report_document.py::test_every_gradable_run_has_context_harness_and_usage"
    ),
    "an ungradable run has none of the three": (
        "test_report_document.py::test_an_ungradable_run_has_neither_context_nor_harness_nor_usage"
    ),
    "context is ContextEvalResult.to_dict()": (
        "test_report_document.py::test_context_is_what_the_evaluator_gives"
    ),
    "in context the seed's 0.0 stands": (
        "test_report_document.py::test_a_run_without_handoffs_and_budgets_has_the_seeds_zeros"
    ),
    "eval_id is of SHA-256 of run, name is run": (
        "test_report_document.py::test_eval_id_is_made_of_the_name_of_the_run"
    ),
    "same input and options: same bytes": (
        "test_report_document.py::test_the_same_corpus_graded_twice_gives_the_same_bytes"
    ),
    "from another working folder too": (
        "test_report_document.py::test_another_working_folder_with_the_same_relative_paths_gives_the_same_bytes"
    ),
    "with shuffled file times too": (
        "test_report_document.py::test_shuffled_file_times_give_the_same_bytes"
    ),
    "however it is read": "test_report_document.py::test_how_it_was_read_does_not_change_the_bytes",
    "in every form": "test_forms.py::test_two_writes_give_the_same_bytes",
    "JSON is strict": "test_forms.py::test_json_is_the_report_document",
    "no lone surrogates": (
        "test_verdicts.py::test_names_with_half_a_surrogate_pair_can_be_written"
    ),
    "streamed is what is in memory": (
        "test_forms.py::test_streamed_json_is_the_document_in_memory"
    ),
    "never all runs as Python objects": (
        "test_forms.py::test_runs_never_stand_in_memory_as_python_objects"
    ),
}

OUTPUTS = {
    "JSONL: a run document a line": "test_forms.py::test_jsonl_is_a_run_document_a_line",
    "CSV: RUNS, a row a run": ("test_forms.py::test_csv_is_a_row_a_run_of_the_columns_of_runs"),
    "CSV: formulas neutralised": (
        "test_forms.py::test_csv_neutralises_texts_that_spreadsheets_run"
    ),
    "CSV: numbers excepted": "test_forms.py::test_csv_keeps_negative_numbers",
    "CSV: RFC 4180": "test_forms.py::test_csv_quotes_what_rfc_4180_quotes",
    "Parquet: runs, handoffs and budgets in a folder": (
        "test_forms.py::test_parquet_is_a_folder_of_the_tables"
    ),
    "Parquet: replaced as a whole": "test_outputs.py::test_a_parquet_folder_is_replaced_as_a_whole",
    "Parquet: only if it holds nothing but our tables": (
        "test_outputs.py::test_an_output_that_cannot_be_written_is_refused"
    ),
    "HTML: no network": "test_forms.py::test_html_needs_no_network_and_no_script",
    "HTML: everything escaped": "test_forms.py::test_html_shows_hostile_names_as_text",
    "HTML: limited, and says so": (
        "test_forms.py::test_html_lists_at_most_so_many_runs_and_says_so"
    ),
    "atomic": "test_outputs.py::test_a_failure_in_the_middle_leaves_the_target_and_no_rest",
    "pipes and devices are written directly": "test_outputs.py::test_a_pipe_is_written_directly",
    "an unknown suffix is refused, the known ones named": (
        "test_outputs.py::test_an_unknown_suffix_names_the_known_ones"
    ),
    "parent folders are not created": (
        "test_outputs.py::test_an_output_that_cannot_be_written_is_refused"
    ),
    "two outputs of one name are refused": (
        "test_outputs.py::test_two_outputs_of_one_place_are_refused"
    ),
    "nothing is written before any work": (
        "test_outputs.py::test_checking_leaves_nothing_and_changes_nothing"
    ),
}

RULES = {
    f"{part}: {rule}": test
    for part, rules in (
        ("runs", RUNS),
        ("handoffs", HANDOFFS),
        ("budgets", BUDGETS),
        ("gates", GATES),
        ("report", REPORT),
        ("outputs", OUTPUTS),
    )
    for rule, test in rules.items()
}


@cache
def names_in(file):
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_has_its_test(rule):
    file, name = RULES[rule].split("::")
    assert name in names_in(file)
