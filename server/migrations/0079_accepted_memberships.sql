-- Since when a member is one by their own will: they accepted an invitation, or created the organization. Null for those whom others have added.
alter table organization_members add column accepted_at timestamptz;

-- Whoever created an organization became a member of it in the same transaction.
update organization_members as member set accepted_at = member.created_at
from organizations where organizations.id = member.organization_id and organizations.created_at = member.created_at;

update organization_members as member set accepted_at = accepted.since
from (
  select invitations.organization_id, users.id as user_id, min(invitations.finished_at) as since
  from invitations join users on lower(users.email) = invitations.email
  where invitations.state = 'accepted' and invitations.finished_at is not null group by 1, 2) as accepted
where accepted.organization_id = member.organization_id and accepted.user_id = member.user_id and member.accepted_at is null
  and accepted.since >= member.created_at;

-- When a certificate is put on the CDN once more, as the CDN did not take it.
alter table cdn_certificates add column again_at timestamptz;
