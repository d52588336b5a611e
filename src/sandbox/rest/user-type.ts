import { type EntityType, entityType } from "../odata/entity-type.ts";
import type { SiteUser } from "../tenant/site-users.ts";

/** A user as `siteusers` gives it. */
export const userType: EntityType = entityType<SiteUser>({
  typeName: "SP.User",
  defaults: [
    ...["Id", "IsHiddenInUI", "LoginName", "Title", "PrincipalType", "Email", "Expiration"],
    ...["IsEmailAuthenticationGuestUser", "IsShareByEmailGuestUser", "IsSiteAdmin", "UserPrincipalName"],
  ],
  properties: {
    Id: (user) => user.id,
    IsHiddenInUI: () => false,
    LoginName: (user) => user.loginName,
    Title: (user) => user.title,
    PrincipalType: () => 1,
    Email: (user) => user.email,
    Expiration: () => "",
    IsEmailAuthenticationGuestUser: () => false,
    IsShareByEmailGuestUser: () => false,
    IsSiteAdmin: () => false,
    UserPrincipalName: (user) => user.email || null,
  },
  links: {},
  filterable: {
    Id: (user) => user.id,
    Title: (user) => user.title,
    Email: (user) => user.email,
    LoginName: (user) => user.loginName,
  },
  key: (user) => user.id,
  address: (user) => `Web/GetUserById(${user.id})`,
});

/** The same user as a person column gives it: a row of the user information list, where the mail is `EMail`. */
export const personType: EntityType = entityType<SiteUser>({
  typeName: "SP.Data.UserInfoItem",
  defaults: ["Id", "Title"],
  together: { Id: "ID", ID: "Id" },
  properties: {
    Id: (user) => user.id,
    ID: (user) => user.id,
    Title: (user) => user.title,
    EMail: (user) => user.email,
    Name: (user) => user.loginName,
    UserName: (user) => user.email,
    FirstName: (user) => user.title.split(" ")[0] ?? "",
    LastName: (user) => user.title.split(" ").slice(1).join(" "),
    JobTitle: () => null,
    Department: () => null,
  },
  links: {},
  address: (user) => `Web/SiteUserInfoList/Items(${user.id})`,
});
