#!/usr/bin/env bash
# Posts a file as a comment on a pull request. Replaces this action's earlier comment, if there is one.
#
#   GH_TOKEN=… GH_REPO=owner/name comment.sh NUMBER FILE
set -euo pipefail
number=${1:?"which pull request"} file=${2:?"which file"}
before=$(gh api --paginate "repos/$GH_REPO/issues/$number/comments" \
  --jq '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- chunkmill -->"))) | .id' | tail -n 1)
if [[ -n $before ]]; then
  gh api --method PATCH "repos/$GH_REPO/issues/comments/$before" --field "body=@$file" --silent
else
  gh api --method POST "repos/$GH_REPO/issues/$number/comments" --field "body=@$file" --silent
fi
