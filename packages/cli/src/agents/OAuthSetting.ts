import { OAuth } from "@quotewire/http"
import { Result } from "effect"
import { Flag } from "effect/cli"
import { settingError, textSetting } from "../settings/Settings.ts"

/** The OAuth issuer whose tokens the agent endpoint accepts. */
export const oauth = textSetting(
  "oauth",
  "OAuth issuer of the access tokens for the agent endpoint, as JSON; none by default"
).pipe(
  Flag.filterMap(
    (json) => Result.getSuccess(OAuth.fromJson(json)),
    (json) => settingError("oauth", `be JSON such as ${oauthExample}; ${wrongOAuth(json)}`)
  ),
  Flag.optional
)

const oauthExample = '{"issuer":"https://login.example.com","environment":"live","organization_id":"org_…"}'

const wrongOAuth = (json: string): string =>
  Result.merge(Result.mapBoth(OAuth.fromJson(json), { onSuccess: () => "", onFailure: ({ message }) => message }))
