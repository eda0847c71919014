(* A profile is an upper bound y -> K(y) for hockey-stick divergences, kept as a finite list of atoms K(y) = c + sum of
   w (1 - y/s)_+. The product of two profiles is their composition, has two equal forms, and is monotone. *)

From Coq Require Import Reals Lra List.
From DPADMM Require Import Integral.
Import ListNotations.
Open Scope R_scope.

(* The constant (mass at infinite loss) and the atoms (weight w, place s). *)
Record profile : Type := Profile { base : R; atoms : list (R * R) }.

Definition value (K : profile) (y : R) : R := base K + lsum (fun a => fst a * pos (1 - y / snd a)) (atoms K).

Definition proper (K : profile) : Prop :=
  0 <= base K /\ (forall a, In a (atoms K) -> 0 <= fst a /\ 0 < snd a) /\ base K + lsum fst (atoms K) = 1.

(* No loss at all: (1 - y)_+. *)
Definition unit_profile : profile := Profile 0 [(1, 1)].

Definition product (K f : profile) : profile :=
  Profile (base K + lsum fst (atoms K) * base f)
    (flat_map (fun a => map (fun b => (fst a * fst b, snd a * snd b)) (atoms f)) (atoms K)).

Lemma unit_value y : value unit_profile y = pos (1 - y).
Proof. unfold value; cbn [base atoms lsum fst snd unit_profile]. replace (y / 1) with y by field. ring. Qed.

Lemma unit_proper : proper unit_profile.
Proof. repeat split; simpl in *; try lra; destruct H as [ <- | [] ]; simpl; lra. Qed.

Lemma lsum_flat_map {A B} (f : B -> R) (g : A -> list B) l : lsum f (flat_map g l) = lsum (fun a => lsum f (g a)) l.
Proof. induction l; simpl; [ easy | ]. rewrite lsum_app, IHl; reflexivity. Qed.

Lemma value_zero K : proper K -> value K 0 = 1.
Proof.
  intros (_ & _ & H). transitivity (base K + lsum fst (atoms K)); [ unfold value; f_equal | exact H ].
  apply lsum_ext; intros a _.
  unfold Rdiv. rewrite Rmult_0_l, Rminus_0_r, pos_of_nonneg by lra; lra.
Qed.

Lemma value_nonneg K y : proper K -> 0 <= value K y.
Proof.
  intros (H0 & Ha & _). unfold value. apply Rplus_le_le_0_compat; [ assumption | ].
  apply lsum_nonneg; intros a Hi. apply Rmult_le_pos; [ now apply Ha | apply pos_nonneg ].
Qed.

(** Settles: COMPOSITION. First form of the product: (K f)(y) = c + sum of w_i f(y/s_i). *)
Theorem product_first_form :
  forall (K f : profile) (y : R),
  (forall a, In a (atoms K) -> 0 < snd a) -> (forall b, In b (atoms f) -> 0 < snd b) ->
  value (product K f) y = base K + lsum (fun a => fst a * value f (y / snd a)) (atoms K).
Proof.
  intros K f y HK Hf. unfold value at 1; simpl. rewrite lsum_flat_map, Rplus_assoc. f_equal.
  rewrite Rmult_comm, <- lsum_scal, <- lsum_plus. apply lsum_ext; intros a Ha. rewrite lsum_map. unfold value; simpl.
  rewrite Rmult_plus_distr_l, <- lsum_scal. f_equal; [ ring | ]. apply lsum_ext; intros b Hb.
  replace (y / (snd a * snd b)) with (y / snd a / snd b); [ ring | ].
  pose proof (HK a Ha); pose proof (Hf b Hb). field; lra.
Qed.

(** Settles: COMPOSITION. Second form: (K f)(y) = c' + sum of v_l K(y/t_l), the atoms of f being (v_l, t_l). *)
Theorem product_second_form :
  forall (K f : profile) (y : R), proper K -> proper f ->
  value (product K f) y = base f + lsum (fun b => fst b * value K (y / snd b)) (atoms f).
Proof.
  intros K f y (K0 & HK & K1) (f0 & Hf & f1).
  rewrite product_first_form by (intros; solve [ now apply HK | now apply Hf ]).
  rewrite (lsum_ext (fun a => fst a * value f (y / snd a))
    (fun a => base f * fst a + lsum (fun b => fst a * (fst b * pos (1 - y / snd a / snd b))) (atoms f)))
    by (intros; unfold value; rewrite lsum_scal; ring).
  rewrite (lsum_ext (fun b => fst b * value K (y / snd b))
    (fun b => base K * fst b + lsum (fun a => fst a * (fst b * pos (1 - y / snd a / snd b))) (atoms K))).
  2: { intros b Hb. unfold value. rewrite Rmult_plus_distr_l, <- lsum_scal. f_equal; [ ring | ].
       apply lsum_ext; intros a Ha. pose proof (HK a Ha); pose proof (Hf b Hb).
       replace (y / snd b / snd a) with (y / snd a / snd b) by (field; lra). ring. }
  rewrite !lsum_plus, !lsum_scal, lsum_swap.
  replace (lsum fst (atoms K)) with (1 - base K) by lra. replace (lsum fst (atoms f)) with (1 - base f) by lra. ring.
Qed.

(** Settles: COMPOSITION. The product of two profiles is a profile. *)
Theorem product_proper : forall K f : profile, proper K -> proper f -> proper (product K f).
Proof.
  intros K f (K0 & HK & K1) (f0 & Hf & f1). unfold proper; simpl. repeat split.
  - assert (0 <= lsum fst (atoms K)) by (apply lsum_nonneg; intros; now apply HK).
    pose proof (Rmult_le_pos _ _ H f0); lra.
  - apply in_flat_map in H as (b & Hb & H). apply in_map_iff in H as (d & <- & Hd); simpl.
    apply Rmult_le_pos; [ now apply HK | now apply Hf ].
  - apply in_flat_map in H as (b & Hb & H). apply in_map_iff in H as (d & <- & Hd); simpl.
    apply Rmult_lt_0_compat; [ now apply HK | now apply Hf ].
  - rewrite lsum_flat_map.
    rewrite (lsum_ext (fun a => lsum fst (map _ (atoms f))) (fun a => lsum fst (atoms f) * fst a)).
    + rewrite lsum_scal. change (lsum (fun a => fst a) (atoms K)) with (lsum fst (atoms K)).
      replace (lsum fst (atoms f)) with (1 - base f) by lra. lra.
    + intros a _. rewrite lsum_map. simpl. rewrite lsum_scal; ring.
Qed.

(** Settles: COMPOSITION. The product is monotone in both factors. *)
Theorem product_monotone :
  forall K K' f f' : profile, proper K -> proper K' -> proper f -> proper f' ->
  (forall y, 0 <= y -> value K y <= value K' y) -> (forall y, 0 <= y -> value f y <= value f' y) ->
  forall y, 0 <= y -> value (product K f) y <= value (product K' f') y.
Proof.
  intros K K' f f' PK PK' Pf Pf' HK Hf y Hy.
  assert (Hdiv : forall s, 0 < s -> 0 <= y / s)
    by (intros; apply Rmult_le_pos; [ assumption | left; now apply Rinv_0_lt_compat ]).
  apply Rle_trans with (value (product K f') y).
  - rewrite !product_first_form by (intros; solve [ now apply PK | now apply Pf | now apply Pf' ]).
    apply Rplus_le_compat_l, lsum_le; intros a Ha. apply Rmult_le_compat_l; [ now apply PK | ].
    apply Hf, Hdiv; now apply PK.
  - rewrite !product_second_form by assumption.
    apply Rplus_le_compat_l, lsum_le; intros a Ha. apply Rmult_le_compat_l; [ now apply Pf' | ].
    apply HK, Hdiv; now apply Pf'.
Qed.

Lemma product_unit_left f y : proper f -> value (product unit_profile f) y = value f y.
Proof.
  intro Pf. rewrite product_first_form; simpl.
  - replace (y / 1) with y by field. lra.
  - intros a [ <- | [] ]; simpl; lra.
  - intros; now apply Pf.
Qed.

Lemma product_above f K : proper K -> proper f -> (forall y, 0 <= y -> pos (1 - y) <= value K y) ->
  forall y, 0 <= y -> value f y <= value (product K f) y.
Proof.
  intros PK Pf H y Hy. rewrite <- (product_unit_left f) by assumption.
  apply product_monotone; auto using unit_proper, Rle_refl. intros; rewrite unit_value; auto.
Qed.
