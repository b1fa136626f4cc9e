#!/usr/bin/env bash
# Audit a model, keep its report, and fail on a bad verdict. Settings come from the environment:
#   HEEDFUL_MODEL      a run folder, or hf:FOLDER_OR_NAME
#   HEEDFUL_DATA_FILE  documents: a file, a folder or a corpus name
#   HEEDFUL_OUTPUT     folder for the report (default: audited)
#   HEEDFUL_FAIL_ON    may-not (default), not-safe, or never
#   HEEDFUL_ARGUMENTS  further arguments of heedful audit, separated by blanks
# The verdict is appended to $GITHUB_STEP_SUMMARY and $GITHUB_OUTPUT where these are set.
set -euo pipefail
: "${HEEDFUL_MODEL:?the model to audit is missing}"
: "${HEEDFUL_DATA_FILE:?the documents to audit on are missing}"
output="${HEEDFUL_OUTPUT:-audited}"
fail_on="${HEEDFUL_FAIL_ON:-may-not}"
read -r -a further <<< "${HEEDFUL_ARGUMENTS:-}"
options=(-o "$output" --quiet)
if [ "$fail_on" != never ]; then options+=(--fail-on "$fail_on"); fi

code=0
heedful audit "$HEEDFUL_MODEL" "$HEEDFUL_DATA_FILE" "${options[@]}" ${further[@]+"${further[@]}"} > heedful-audit.txt || code=$?
cat heedful-audit.txt
# Codes above 1 are not verdicts: wrong usage, or a machine that gave out.
if [ "$code" -gt 1 ]; then exit "$code"; fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  { echo "### $(sed -n 1p heedful-audit.txt)"; echo; sed -n 2p heedful-audit.txt; } >> "$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  { echo "report=$output/report.html"; echo "failed=$code"; } >> "$GITHUB_OUTPUT"
fi
exit "$code"
