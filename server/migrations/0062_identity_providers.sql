-- Who somebody is at another identity provider is said by its issuer and subject. The name of a provider is the operator's, and may be given to another issuer.
alter table connections add column issuer text;
update connections set issuer = provider;
alter table connections alter column issuer set not null;
alter table connections drop constraint connections_provider_subject_key;
alter table connections add constraint connections_issuer_subject_key unique (issuer, subject);
